# What needs doing in this repository. Needs GNU make >= 4 and Python >= 3.11; everything else goes into .venv.
# Steps that take time leave a stamp inside the environment, so a second run is fast and deleting .venv starts over.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
STAMPS := $(VENV)/.stamps
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check

# In the order of the layers, lowest first.
DISTRIBUTIONS := kernel dispatcher plugins/autograd plugins/aten plugins/cpu plugins/cuda plugins/native plugins/pytest . plugins/testing
EXAMPLES := $(patsubst %/pyproject.toml,%,$(wildcard examples/*/pyproject.toml) tests/loopback/pyproject.toml)
MANIFESTS := $(addsuffix /pyproject.toml,$(DISTRIBUTIONS) $(EXAMPLES))

# Distributions that are installed by the targets that need them: what they stand on is heavy.
OPTIONAL := $(wildcard $(addprefix plugins/,dask mpi))

# What mypy --strict and ruff look at.
TYPED := kernel/src dispatcher/src plugins/autograd/src plugins/aten/src plugins/cpu/src plugins/cuda/src \
  plugins/native/src plugins/pytest/src src plugins/testing/src $(OPTIONAL:%=%/src)
LINTED := $(DISTRIBUTIONS:.=src) $(OPTIONAL) conftest.py tests tools $(wildcard examples benchmarks)

TEST_STAMPS := $(STAMPS)/test
# make test ORACLE=1 also installs PyTorch, which the conformance tests compare with.
ifeq ($(ORACLE),1)
TEST_STAMPS += $(STAMPS)/oracle $(STAMPS)/interop
endif

PYTEST = $(PY) -m pytest -q $$($(PY) -c 'import xdist; print("-n 2")' 2>/dev/null)
# What any backend can run: `make test-backend BACKEND=cuda`. On loopback the slow half is left to that command.
ON_ANY_BACKEND := plugins/aten/tests plugins/autograd/tests plugins/cpu/tests tests/front tests/conformance \
  $(wildcard tests/test_*.py) $(wildcard examples/*/tests)
ON_LOOPBACK := plugins/aten/tests plugins/autograd/tests plugins/cpu/tests tests/front $(wildcard examples/*/tests)
BACKEND ?= loopback
# All of them take hours: one of forty parts, another one each time. TESTS=2/40 is a certain one, TESTS=all is all.
TESTS ?= $(shell echo $$(($$(date +%s) % 40 + 1))/40)
# Of the tests of the compiled core: a quarter, another one each time.
SANITIZED_TESTS ?= $(shell echo $$(($$(date +%s) % 4 + 1))/4)
# Of each operator's samples: TESTS=all SAMPLES=1/8 has every check of every operator in a fraction of the time.
SAMPLES ?= all
# What is known to fail on a backend, with reasons.
EXCEPTIONS = $(addprefix --exceptions ,$(wildcard tests/exceptions/$(BACKEND).txt) \
  $(if $(filter jax strict dask,$(BACKEND)),tests/exceptions/without_memory.txt))

# For which part of the operators `make test` runs the tests that are about every one of them: another one each time.
# DOVETAIL_OPERATORS=2/8 is a certain one, and =all runs them for all, as bare pytest does.
ifndef DOVETAIL_OPERATORS
DOVETAIL_OPERATORS := $(shell echo $$(($$(date +%s) % 8 + 1))/8)
endif

.SUFFIXES:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
# Tests start interpreters by the hundred: without bytecode each would compile the packages again.
unexport PYTHONDONTWRITEBYTECODE
# Two processes test side by side: threads of BLAS and of PyTorch would only wait for each other.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
.PHONY: help install demo test test-pure test-sanitized test-threads-sanitized test-mutations coverage coverage-rooms test-operators test-backend parity check bench bench-suite bench-compare bench-sweep bench-others codegen dist clean install-dispatcher install-noautograd
.PHONY: cuda-emulator test-cuda-emulated test-cuda-emulated-whole test-cuda bench-cuda

help:
	@echo "make demo                 install, then classify digits with examples/digits/demo.py"
	@echo "make test [ORACLE=1]      install, check, run every test (ORACLE=1: compare with PyTorch)"
	@echo "make test-operators       the tests that are about every operator, for all of them (make test: an eighth)"
	@echo "make test-pure            a part of the tests without compiled code"
	@echo "make test-sanitized       a part of the tests with the compiled core under ASan and UBSan (SANITIZED_TESTS=all)"
	@echo "make test-threads-sanitized   tests of threads, and operators in three threads, under the sanitizer of threads"
	@echo "make test-mutations       change the code where a test noticed it before: it has to notice again (MINUTES=2)"
	@echo "make coverage-rooms       branch coverage of kernel, dispatcher and autograd by their own tests (ROOMS=kernel)"
	@echo "make coverage             that of these, native and cpu by their tests and a part of all others (TESTS=1/4)"
	@echo "make test-backend BACKEND=loopback   what any backend can run, on that one (jax, strict, dask, cuda):"
	@echo "                          a fortieth, which is said at the end; TESTS=2/40 for that one, TESTS=all for all,"
	@echo "                          SAMPLES=1/8 for an eighth of each operator's samples"
	@echo "make cuda-emulator        build two emulated CUDA devices for the real CuPy (g++, a minute)"
	@echo "make test-cuda-emulated   the tests of the cuda plugin, and a sample of others, on them"
	@echo "make test-cuda-emulated-whole   all of them, which takes hours"
	@echo "make test-cuda            the same, whole, on the CUDA devices of this machine; TESTS=2/40 for a part"
	@echo "make bench-cuda           measure calls and training steps on the CUDA device of this machine"
	@echo "make test-mpi             the tests of dovetail-mpi, under mpiexec"
	@echo "make demo-distributed     classify digits with two processes, one run killed and resumed"
	@echo "make docs                 the site, as HTML that opens from disk: docs/_build/html"
	@echo "make test-dask            dovetail-dask: install it and Dask, and test"
	@echo "make demo-outofcore       train on a Zarr store; ARGS='--gib 20 --workers 2 --kill-one' for more"
	@echo "make parity               compare every operator with PyTorch on its own table of them"
	@echo "make check                lint, format, types, import layers, stale generated code"
	@echo "make bench [ORACLE=1]     measure the overhead of calls (ORACLE=1: against PyTorch)"
	@echo "make bench-suite [THREADS=2]   measure the whole library, and keep the figures as JSON"
	@echo "make bench-compare BASE=REV    measure what is here against a revision, in one process"
	@echo "make bench-sweep [ONLY=conv]   a small call of every operator in PyTorch's own table"
	@echo "make bench-others         training steps in Dovetail, PyTorch, JAX, autograd, mygrad, tinygrad"
	@echo "make dist [REQUIREMENTS=1] wheels and source distributions into dist (REQUIREMENTS=1: and what they need)"
	@echo "make codegen              write the generated code again"
	@echo "make install              every distribution, editable, into $(VENV)"
	@echo "make install-dispatcher   kernel and dispatcher alone, into $(VENV)-dispatcher"
	@echo "make install-noautograd   everything but autograd and the front end, into $(VENV)-noautograd"
	@echo "make clean                remove caches and the two small environments, keep $(VENV)"

# -- environments --------------------------------------------------------------------------------------------------

define create_venv
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Dovetail needs Python >= 3.11: make PYTHON=...")'
	$(PYTHON) -m venv $(1)
endef

# An environment that is there already is kept: venv only adds what is missing.
$(STAMPS)/venv:
	$(call create_venv,$(VENV))
	@mkdir -p $(STAMPS)
	@touch $@

$(STAMPS)/install: $(STAMPS)/venv $(MANIFESTS)
	$(PY) $(PIP_INSTALL) $$($(PY) tools/dependency_group.py build)
	$(PY) $(PIP_INSTALL) --no-build-isolation $(foreach path,$(DISTRIBUTIONS) $(EXAMPLES),-e './$(path:aten=aten[codegen])')
	@touch $@
	@touch $(STAMPS)/native $(STAMPS)/docstrings

# Compiles the core in place again when a source changes.
$(STAMPS)/native: $(STAMPS)/install $(wildcard $(addprefix plugins/native/,core/*.[ch] engine/*.[ch] kernels/*.[ch] random/*.[ch] table/*.[ch])) plugins/native/hatch_build.py
	$(PY) plugins/native/hatch_build.py
	@touch $@

# One stamp per group of [dependency-groups] in pyproject.toml.
$(STAMPS)/test $(STAMPS)/demo $(STAMPS)/interop $(STAMPS)/oracle $(STAMPS)/coverage: $(STAMPS)/%: $(STAMPS)/install pyproject.toml | $(STAMPS)/native $(STAMPS)/docstrings
	$(PY) tools/dependency_group.py $* > $(STAMPS)/$*.txt
	$(PY) $(PIP_INSTALL) -r $(STAMPS)/$*.txt
	@touch $@

# Writes the docstrings of the operators again when what they say changes.
$(STAMPS)/docstrings: $(STAMPS)/install $(wildcard $(addprefix plugins/aten/src/dovetail_aten/,families/*/docs.yaml families/*/native_functions.yaml codegen/writers/docstrings.py))
	$(PY) plugins/aten/hatch_build.py
	@touch $@

install: $(STAMPS)/install $(STAMPS)/native $(STAMPS)/docstrings

# -- what one does with it -----------------------------------------------------------------------------------------

demo: $(STAMPS)/demo
	$(PY) examples/digits/demo.py

check: $(STAMPS)/test
	$(PY) -m ruff check $(LINTED)
	$(PY) -m ruff format --check $(LINTED)
	$(PY) -m mypy --strict $(TYPED)
	PYTHONPATH=$(subst $(eval ) ,:,$(OPTIONAL:%=%/src)) $(VENV)/bin/lint-imports
	$(PY) -m dovetail_aten.codegen --check

test: export DOVETAIL_OPERATORS := $(DOVETAIL_OPERATORS)
# pytest's closing line stays the last one. The backend of a third party runs the base library's tests first.
test: check $(TEST_STAMPS)
	@$(PYTEST) --backend loopback $(ON_LOOPBACK)
	@$(PYTEST)

# What calls operators, without compiled code.
test-pure: $(TEST_STAMPS)
	@DOVETAIL_NATIVE=0 $(PYTEST) dispatcher/tests plugins/autograd/tests tests/front

# The core with the sanitizers of addresses and of undefined behaviour, on a part of its tests. SciPy throws exceptions of
# C++, which the sanitizer of addresses has to find at start.
SANITIZED := build/sanitized
SANITIZERS := -fsanitize=address,undefined
test-sanitized: export UBSAN_OPTIONS := print_stacktrace=1
test-sanitized: $(TEST_STAMPS)
	@library=$$($(or $(CC),cc) -print-file-name=libasan.so 2>/dev/null); if [ -f "$$library" ]; then \
	  throws=$$($(or $(CC),cc) -print-file-name=libstdc++.so.6); \
	  CFLAGS="$(SANITIZERS) -fno-sanitize-recover=undefined -O1 -g1" LDFLAGS="$(SANITIZERS)" \
	    $(PY) plugins/native/hatch_build.py $(SANITIZED) && \
	  PYTHONPATH=$(SANITIZED) LD_PRELOAD="$$library $$throws" ASAN_OPTIONS=detect_leaks=0 DOVETAIL_NATIVE=1 $(PYTEST) \
	    --tests $(SANITIZED_TESTS) plugins/native/tests; \
	else echo "the sanitizers need a C compiler with libasan"; echo "0 passed, 1 skipped in 0.0s"; fi

# The core with the sanitizer of threads, on tests of threads and on the operators of `make test`, each by three threads.
# CPython, NumPy and BLAS are not compiled with it; the locks that they take are known. A race makes the exit status 66.
THREADED := tests/test_operators_in_threads.py tests/test_threads_and_tasks.py \
  $(addsuffix /tests,kernel dispatcher plugins/autograd plugins/cpu plugins/native) tests/front
test-threads-sanitized: export TSAN_OPTIONS := suppressions=tests/thread_sanitizer_suppressions.txt die_after_fork=0
test-threads-sanitized: $(TEST_STAMPS)
	@library=$$($(or $(CC),cc) -print-file-name=libtsan.so 2>/dev/null); if [ -f "$$library" ]; then \
	  CFLAGS="-fsanitize=thread -DRELEASE_ALWAYS -O1 -g1" LDFLAGS=-fsanitize=thread \
	    $(PY) plugins/native/hatch_build.py $(SANITIZED)-threads && \
	  PYTHONPATH=$(SANITIZED)-threads LD_PRELOAD="$$library" DOVETAIL_NATIVE=1 $(PY) -m pytest -q \
	    --operators $(DOVETAIL_OPERATORS) -k thread $(THREADED); \
	else echo "the sanitizer of threads needs a C compiler with libtsan"; echo "0 passed, 1 skipped in 0.0s"; fi

# One to two minutes of changes that a test has noticed before: the same test has to notice them again.
MINUTES ?= 2
test-mutations: $(TEST_STAMPS)
	@$(PY) tools/mutations.py replay --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

# Without compiled code, in place of which the text in Python runs.
ROOMS ?= kernel dispatcher plugins/autograd
coverage-rooms: $(TEST_STAMPS) $(STAMPS)/coverage
	@mkdir -p build
	@for room in $(ROOMS); do \
	  export DOVETAIL_NATIVE=0 COVERAGE_FILE=build/coverage-$$(basename $$room); \
	  $(PY) -m coverage run --branch --source=$$room/src -m pytest -q $$room/tests && \
	  $(PY) -m coverage report --show-missing --skip-covered || exit 1; \
	done

# Processes that tests start count too; a few tests look at frames, and fail under a tracer.
COVERED := kernel dispatcher plugins/autograd plugins/native plugins/cpu
COVERAGE = $(PY) -m coverage
COVER = $(COVERAGE) run --rcfile=tests/coverage.ini -m pytest -q -p no:cacheprovider

coverage: $(TEST_STAMPS) $(STAMPS)/coverage
	@rm -rf build/coverage && mkdir -p build/coverage
	-@for native in 0 1; do \
	  export DOVETAIL_NATIVE=$$native; \
	  $(COVER) $(COVERED:%=%/tests); $(COVER) --tests $(TESTS) plugins/aten/tests tests; \
	done
	@$(COVERAGE) combine -q --rcfile=tests/coverage.ini
	@for room in $(COVERED); do \
	  percent=$$($(COVERAGE) report --rcfile=tests/coverage.ini --include="$$room/src/*" --format=total); \
	  echo "$$room $$percent %"; \
	done

test-operators: $(TEST_STAMPS)
	@$(PYTEST) --operators all $$(grep -lrE 'mark\.(operators|op_infos)\(' tests examples --include='test_*.py')

# Backends whose libraries are installed for this alone: each has its group in pyproject.toml, and its stamp below.
test-backend: $(TEST_STAMPS) $(addprefix $(STAMPS)/,$(filter dask jax strict,$(BACKEND)))
	@$(PYTEST) --backend $(BACKEND) $(EXCEPTIONS) --tests $(TESTS) --samples $(SAMPLES) $(ON_ANY_BACKEND)

# -- namespaces: JAX, and the array API standard --------------------------------------------------------------------

$(STAMPS)/jax $(STAMPS)/strict: $(STAMPS)/%: $(STAMPS)/test tests/namespaces/pyproject.toml pyproject.toml
	$(PY) tools/dependency_group.py $* > $@.txt
	$(PY) $(PIP_INSTALL) -r $@.txt
	$(PY) $(PIP_INSTALL) --no-build-isolation --no-deps -e tests/namespaces
	@touch $@

# -- cuda: on hardware, or on the real CuPy with an emulated driver -------------------------------------------------

EMULATOR := build/cuda-emulator
EMULATED := $(PY) tools/cuda_emulator/run.py

# Rebuilds what is stale; where there is no g++ it says so, and the tests skip.
cuda-emulator: $(STAMPS)/test
	@if command -v g++ > /dev/null; then $(PY) tools/cuda_emulator/build.py $(EMULATOR); \
	  else echo "the CUDA emulator needs g++, which is not installed"; fi

test-cuda-emulated: cuda-emulator
	@if [ -d $(EMULATOR)/site ]; then $(PY) tools/cuda_emulator/suite.py $(if $(SEED),--seed $(SEED)); \
	  else echo "0 passed, 0 failed, 1 skipped"; fi

# Hours on two cores.
test-cuda-emulated-whole: cuda-emulator
	@$(PY) tools/cuda_emulator/suite.py --sample 1

# Tests of any backend expect errors of indices at once. TESTS=2/40 is a part of them.
test-cuda: TESTS := all
test-cuda: $(TEST_STAMPS)
	@$(PY) -m pytest -q plugins/cuda/tests
	@CUDA_LAUNCH_BLOCKING=1 $(PYTEST) --backend cuda --exceptions tests/exceptions/cuda.txt --tests $(TESTS) $(ON_ANY_BACKEND)

bench-cuda: $(TEST_STAMPS)
	$(PY) benchmarks/on_cuda.py $(REPEATS)

# ------------------------------------------------------------------------------------------------------------------

parity: $(STAMPS)/test $(STAMPS)/oracle
	$(PY) tools/parity.py

# Figures without compiled code are asked for: DOVETAIL_NATIVE=0 make bench.
bench bench-suite bench-sweep bench-others: export DOVETAIL_NATIVE ?= 1

bench: $(TEST_STAMPS)
	$(PY) benchmarks/overhead.py

bench-suite: $(TEST_STAMPS)
	$(PY) -m benchmarks.suite --threads $(or $(THREADS),1)

bench-compare: $(TEST_STAMPS)
	@test -n "$(BASE)" || { echo "name a revision: make bench-compare BASE=main"; exit 2; }
	$(PY) -m benchmarks.suite.compare $(BASE)

bench-sweep: $(STAMPS)/oracle
	$(PY) benchmarks/sweep.py $(if $(ONLY),--only $(ONLY))

# What is not installed is left out; tinygrad asks for clang.
bench-others: $(TEST_STAMPS)
	$(PY) $(PIP_INSTALL) jax autograd mygrad tinygrad
	$(PY) -m benchmarks.others --threads $(or $(THREADS),1)

codegen: $(STAMPS)/install
	$(PY) tools/codegen.py

dist: $(STAMPS)/install
	$(PY) tools/dist.py $(if $(filter 1,$(REQUIREMENTS)),--requirements)

clean:
	rm -rf $(VENV)-dispatcher $(VENV)-noautograd .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find $(DISTRIBUTIONS:.=src) tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

# -- parts of the whole --------------------------------------------------------------------------------------------
# As a user gets them: not editable, with build isolation, one command that names the closure. Made anew each time, so
# that nothing from an earlier installation is left to lean on.

install-dispatcher:
	rm -rf $(VENV)-dispatcher
	$(call create_venv,$(VENV)-dispatcher)
	$(VENV)-dispatcher/bin/python $(PIP_INSTALL) ./kernel ./dispatcher
	$(VENV)-dispatcher/bin/python tools/smoke_dispatcher.py

install-noautograd:
	rm -rf $(VENV)-noautograd
	$(call create_venv,$(VENV)-noautograd)
	$(VENV)-noautograd/bin/python $(PIP_INSTALL) ./kernel ./dispatcher ./plugins/aten ./plugins/cpu
	$(VENV)-noautograd/bin/python tools/smoke_noautograd.py

# -- plugins above the front end -----------------------------------------------------------------------------------

.PHONY: test-mpi demo-distributed docs

$(STAMPS)/mpi: $(STAMPS)/test plugins/mpi/pyproject.toml
	$(PY) tools/dependency_group.py mpi > $(STAMPS)/mpi.txt
	$(PY) $(PIP_INSTALL) -r $(STAMPS)/mpi.txt
	$(PY) $(PIP_INSTALL) --no-build-isolation -e ./plugins/mpi
	@touch $@

# Starts its own processes, which wait for each other: not with other tests beside them.
test-mpi: $(STAMPS)/mpi
	@$(PY) -m pytest -q plugins/mpi

demo-distributed: $(STAMPS)/mpi $(STAMPS)/demo
	$(PY) examples/digits/distributed_demo.py

# -- the site ------------------------------------------------------------------------------------------------------

$(STAMPS)/docs: $(STAMPS)/test pyproject.toml
	$(PY) tools/dependency_group.py docs > $(STAMPS)/docs.txt
	$(PY) $(PIP_INSTALL) -r $(STAMPS)/docs.txt
	@touch $@

# Opens from disk: docs/_build/html/index.html. Writes the drawings of the README too.
docs: $(STAMPS)/docs
	$(PY) -m sphinx -q -W --keep-going -b html docs docs/_build/html
	$(PY) tools/check_site.py docs/_build/html
	@$(PYTEST) tests/test_notebooks.py

# -- dask: tensors larger than memory --------------------------------------------------------------------------------

$(STAMPS)/dask: $(STAMPS)/test plugins/dask/pyproject.toml pyproject.toml
	$(PY) tools/dependency_group.py $(notdir $@) > $@.txt
	$(PY) $(PIP_INSTALL) -r $@.txt
	$(PY) $(PIP_INSTALL) --no-build-isolation --no-deps -e plugins/dask
	@touch $@

.PHONY: test-dask demo-outofcore
test-dask: $(STAMPS)/dask
	@$(PY) -m pytest -q plugins/dask

demo-outofcore: $(STAMPS)/dask
	$(PY) examples/outofcore/demo.py $(ARGS)
