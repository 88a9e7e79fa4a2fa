"""The plugin as suites see it: each test runs a small suite of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dovetail_dispatcher
from dovetail_kernel import backend, get_default_device, has_backend, set_default_device

LOOPBACK = pytest.importorskip(
    "dovetail_loopback", reason="the backend that the suites run on is not installed"
)


@pytest.fixture(autouse=True)
def _keep_the_default_device():
    """The inner sessions set the default device, and set it back to the cpu."""
    before = get_default_device()
    yield
    set_default_device(before)


@pytest.fixture(autouse=True)
def _all_operators(monkeypatch):
    """The inner sessions run for all operators, whatever this one does."""
    monkeypatch.delenv("DOVETAIL_OPERATORS", raising=False)


def run(pytester: pytest.Pytester, source: str, *options: str) -> pytest.RunResult:
    """Run a suite of one file in this process."""
    pytester.makeini("[pytest]\naddopts = --strict-markers --strict-config\n")
    pytester.makepyfile(source)
    return pytester.runpytest_inprocess(
        "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest", *options
    )


def test_importing_the_plugin_imports_nothing_of_dovetail():
    code = (
        "import dovetail_pytest, sys; "
        "sys.exit(any(name.startswith('dovetail_kernel') for name "
        "in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# -- --backend -------------------------------------------------------------------------------------

DEVICES = """
    import dovetail, pytest

    MADE_AT_COLLECTION = dovetail.ones(1)

    @pytest.mark.parametrize("turn", [1, 2])
    def test_devices(dovetail_device, turn):
        assert dovetail_device == dovetail.device(EXPECTED)
        assert dovetail.zeros(2).device.type == MADE_AT_COLLECTION.device.type == EXPECTED
        dovetail.set_default_device(None)

    @pytest.mark.cpu_only(reason="asks for the cpu")
    def test_cpu():
        assert dovetail.zeros(2).is_cpu
"""


def test_a_suite_runs_on_the_cpu_by_default(pytester):
    result = run(pytester, DEVICES.replace("EXPECTED", '"cpu"'))
    result.assert_outcomes(passed=3)
    assert "dovetail backend" not in result.stdout.str()


def test_a_suite_runs_on_the_backend_that_is_named(pytester):
    result = run(
        pytester, DEVICES.replace("EXPECTED", '"loopback"'), "--backend", "loopback", "-rs"
    )
    result.assert_outcomes(passed=2, skipped=1)
    result.stdout.fnmatch_lines(
        ["dovetail backend: loopback", "*SKIPPED*about the cpu: asks for the cpu"]
    )


def test_the_default_device_is_the_cpu_again_after_the_session(pytester):
    run(pytester, "def test_nothing(): pass", "--backend", "loopback").assert_outcomes(passed=1)
    assert get_default_device().type == "cpu"
    assert has_backend("loopback") and backend("loopback").is_attached


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("loopbak", "*--backend loopbak:*Did you mean 'loopback'*"),
        (
            "xpu",
            "*--backend xpu: no installed distribution provides a backend for device type 'xpu'*",
        ),
        ("loopback:x", "*--backend loopback:x: Invalid device string*"),
    ],
)
def test_a_backend_that_cannot_be_had_is_an_error_with_the_reason(pytester, name, words):
    result = run(pytester, "def test_nothing(): pass", "--backend", name)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([words])


# -- libraries and leaks ---------------------------------------------------------------------------

LEAK = """
    from dovetail_dispatcher import Library

    KEPT = []

    def test_that_leaks():
        library = Library("leaks", "FRAGMENT")
        library.define("f(int x) -> int")
        library.impl("f", lambda x: x, "CompositeExplicitAutograd")
        KEPT.append(library)

    def test_after_it():
        from dovetail_dispatcher.table import registry
        assert registry.find("leaks::f", "") is None
"""


def test_a_scoped_library_is_gone_after_the_test(pytester):
    result = run(
        pytester,
        """
        import dovetail
        from dovetail_dispatcher.table import registry

        def test_inside(scoped_library):
            library = scoped_library("scoped")
            library.define("f(int x) -> int")
            scoped_library("scoped", "IMPL", "CompositeExplicitAutograd").impl("f", lambda x: x + 1)
            assert dovetail.ops.scoped.f(1) == 2

        def test_outside():
            assert registry.find("scoped::f", "") is None
        """,
        "-W",
        "error",
    )
    result.assert_outcomes(passed=2)


def test_a_leaked_registration_is_named_and_taken_back(pytester):
    result = run(pytester, LEAK, "-W", "default")
    result.assert_outcomes(passed=2, warnings=1)
    result.stdout.fnmatch_lines(
        [
            "*LeakedRegistrationWarning: *::test_that_leaks has left registrations behind, which "
            "were taken back:*",
            "*kernel of leaks::f for CompositeExplicitAutograd, registered at *test_*.py:*",
            "*operator leaks::f, *test_*.py:*",
            "*scoped_library*",
        ]
    )


def test_where_warnings_are_errors_a_leak_is_one(pytester):
    run(pytester, LEAK, "-W", "error").assert_outcomes(passed=2, errors=1)


def test_leaks_can_be_cleaned_without_a_word(pytester):
    run(pytester, LEAK, "-o", "dovetail_leaks=clean", "-W", "error").assert_outcomes(passed=2)


def test_leaks_can_be_kept(pytester):
    kept = LEAK.replace("is None", "is not None")
    kept += "\n        KEPT.pop()._destroy()\n"
    run(pytester, kept, "-o", "dovetail_leaks=keep").assert_outcomes(passed=2)


def test_what_a_fixture_of_the_module_registers_stays_for_the_module(pytester):
    result = run(
        pytester,
        """
        import pytest
        from dovetail_dispatcher import Library
        from dovetail_dispatcher.table import registry

        @pytest.fixture(scope="module")
        def library():
            library = Library("module_wide", "FRAGMENT")
            library.define("f(int x) -> int")
            yield library
            library._destroy()

        @pytest.mark.parametrize("turn", [1, 2])
        def test_inside(library, turn):
            assert registry.find("module_wide::f", "") is not None
        """,
        "-W",
        "error",
    )
    result.assert_outcomes(passed=2)


def test_a_failed_test_is_cleaned_up_after_without_blame(pytester):
    result = run(
        pytester, LEAK.replace("KEPT.append(library)", "KEPT.append(library); assert False")
    )
    result.assert_outcomes(passed=1, failed=1)


def test_a_destroyed_library_frees_its_operators_during_the_test(pytester):
    result = run(
        pytester,
        """
        import gc, weakref
        from dovetail_dispatcher import Library
        from dovetail_dispatcher.table import registry

        def test_memory():
            library = Library("freed", "FRAGMENT")
            library.define("f(int x) -> int")
            operator = weakref.ref(registry.find("freed::f", ""))
            library._destroy()
            gc.collect()
            assert operator() is None
        """,
    )
    result.assert_outcomes(passed=1)


# -- opcheck ---------------------------------------------------------------------------------------

CHECKED = """
    def test_the_operator(assert_op_ok):
        assert_op_ok("mylib::f", 1, scale=2)
"""


def test_each_check_of_an_operator_is_a_result_of_its_own(pytester, monkeypatch):
    given = []

    def opcheck(op, args, kwargs, *, raise_exception):
        given.append((op, args, kwargs, raise_exception))
        return {
            "test_schema": ValueError("it writes to x"),
            "test_faketensor": "SUCCESS",
            "test_autograd": KeyError("f"),
        }

    monkeypatch.setattr("dovetail_dispatcher.opcheck", opcheck, raising=False)
    result = run(pytester, CHECKED)
    assert given == [("mylib::f", (1,), {"scale": 2}, False)]
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines_random(
        [
            "E *ValueError: it writes to x",
            "SUBFAILED*test_schema*mylib::f*::test_the_operator*",
            "SUBFAILED*test_autograd*mylib::f*::test_the_operator*",
        ]
    )
    assert "SUBFAILED[test_faketensor]" not in result.stdout.str()


@pytest.mark.skipif(
    not hasattr(dovetail_dispatcher, "opcheck"), reason="the dispatcher has no opcheck yet"
)
@pytest.mark.parametrize(
    ("kernel", "words"), [("x * 2", None), ("x.mul_(2)", "*SUBFAILED*test_schema*")]
)
def test_the_checks_are_those_of_opcheck(pytester, kernel, words):
    result = run(
        pytester,
        f"""
        import dovetail

        def test_the_operator(assert_op_ok, scoped_library):
            library = scoped_library("checked")
            library.define("f(Tensor x) -> Tensor")
            library.impl("f", lambda x: {kernel}, "CompositeExplicitAutograd")
            assert_op_ok(dovetail.ops.checked.f.default, dovetail.ones(2))
        """,
    )
    assert (result.ret == 0) == (words is None)
    if words is not None:
        result.stdout.fnmatch_lines([words])


OP_INFOS = """
import pytest
import dovetail
from dovetail.library import Library, register_fake, register_op_infos
from dovetail.testing import OpInfo, SampleInput, Skip, TensorMaker, floating_types

library = Library("plugged", "DEF")
library.define("f(Tensor x) -> Tensor")
library.impl("f", lambda x: x * 2, "CompositeExplicitAutograd")
register_fake("plugged::f", dovetail.empty_like, lib=library)


def samples(info, device, dtype, requires_grad):
    yield SampleInput(TensorMaker(device=device, dtype=dtype)(2, 3))


register_op_infos("plugged", lambda: [
    OpInfo(name="plugged::f", dtypes=floating_types(), sample_inputs_func=samples,
           ref=lambda x: x * {factor}, supports_autograd=False,
           skips=(Skip("meta", "no shapes"), Skip("dtypes", "others are taken")))
])
{mark}
def test_operator(op_check):
    op_check()
"""


def op_info_suite(mark: str, factor: int = 2) -> str:
    return OP_INFOS.replace("{mark}", mark).replace("{factor}", str(factor))


def test_every_check_of_every_operator_is_a_test(pytester: pytest.Pytester):
    result = run(pytester, op_info_suite('@pytest.mark.op_infos("plugged")'), "-v", "-rs")
    outcomes = result.parseoutcomes()
    assert (outcomes["skipped"], outcomes.get("failed", 0)) == (2, 0)
    assert outcomes["passed"] > 5
    result.stdout.fnmatch_lines(["*test_operator?reference-f? PASSED*", "*no shapes*"])
    # What is not about an operator without derivative, references or variants is no test.
    result.stdout.no_fnmatch_line("*test_operator?gradients-f*")


def test_a_check_that_fails_is_a_failure_that_names_the_sample(pytester: pytest.Pytester):
    suite = op_info_suite('@pytest.mark.op_infos("plugged")', factor=3)
    result = run(pytester, suite, "-k", "reference")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*are not close*", "*The sample is SampleInput(dovetail.float32*"])


def test_only_some_checks_may_be_asked_for(pytester: pytest.Pytester):
    mark = '@pytest.mark.op_infos("plugged", checks=("samples", "layouts"))'
    run(pytester, op_info_suite(mark)).assert_outcomes(passed=2)


def test_the_samples_are_on_the_device_of_the_suite(pytester: pytest.Pytester):
    mark = '@pytest.mark.op_infos("plugged", checks=("samples", "meta_strides"))'
    result = run(pytester, op_info_suite(mark), "--backend", "loopback", "-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["*strides are those of the cpu*"])


def test_a_test_without_namespace_is_refused(pytester: pytest.Pytester):
    result = run(pytester, op_info_suite(""))
    assert result.ret != 0
    (result.stdout if result.ret == 2 else result.stderr).fnmatch_lines(
        ["*has the fixture op_check and no namespace*"]
    )


EXCEPTIONS = """
    import pytest

    @pytest.mark.parametrize("number", [1, 2])
    def test_fails(number): assert number == 2
    def test_passes(): pass
"""


def test_what_is_known_to_fail_on_a_backend_is_expected_to(pytester):
    known = pytester.path / "known.txt"
    known.write_text("# why\n\n::test_fails[[]1] | it has no twos\n".replace("[[]", "["))
    result = run(pytester, EXCEPTIONS, "--exceptions", str(known), "-rx")
    result.assert_outcomes(passed=2, xfailed=1)
    result.stdout.fnmatch_lines(["*XFAIL*it has no twos*"])


def test_what_passes_though_it_is_known_to_fail_fails_the_run(pytester):
    known = pytester.path / "known.txt"
    known.write_text("::test_passes | it did once")
    result = run(pytester, EXCEPTIONS, "--exceptions", str(known))
    result.assert_outcomes(passed=1, failed=2)


IN_A_RING = """
    def test_fails():
        error, cause = ValueError("this"), ValueError("that")
        error.__context__, cause.__context__ = cause, error
        raise error
"""


def test_an_error_that_came_from_one_that_came_from_it_is_shown(pytester):
    known = pytester.path / "known.txt"
    known.write_text("raises: TypeError: * | it has no types")
    result = run(pytester, IN_A_RING, "--exceptions", str(known))
    result.assert_outcomes(failed=1)


def test_an_exception_without_a_reason_is_refused(pytester):
    known = pytester.path / "known.txt"
    known.write_text("::test_passes")
    result = run(pytester, EXCEPTIONS, "--exceptions", str(known))
    result.stderr.fnmatch_lines(["*known.txt:1 gives no reason*"])


REFUSED = """
    import pytest

    def refuse(): raise NotImplementedError("frames: [2, 3] are not known here")

    def test_refused(): refuse()
    def test_refused_within():
        try:
            refuse()
        except NotImplementedError as error:
            raise RuntimeError("no") from error
    def test_fails(): raise NotImplementedError("something else")
    def test_passes(): pass
"""


def test_what_a_backend_is_known_to_refuse_is_expected_wherever_it_does(pytester):
    known = pytester.path / "known.txt"
    known.write_text("raises: NotImplementedError: frames: [2, *] are not known * | it has none")
    result = run(pytester, REFUSED, "--exceptions", str(known), "-rx")
    result.assert_outcomes(passed=1, failed=1, xfailed=2)
    result.stdout.fnmatch_lines(["*XFAIL*it has none*"])


def test_a_module_that_a_backend_refuses_is_skipped_with_the_reason(pytester):
    known = pytester.path / "known.txt"
    known.write_text("raises: NotImplementedError: frames: * | it has none")
    result = run(pytester, REFUSED + "\n    refuse()\n", "--exceptions", str(known), "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*SKIPPED*it has none*"])
    result = run(pytester, REFUSED + "\n    1 / 0\n", "--exceptions", str(known))
    result.assert_outcomes(errors=1)


def test_a_test_that_would_not_end_is_not_run(pytester):
    known = pytester.path / "known.txt"
    known.write_text("not run: ::test_endless | each call takes as long as all before")
    suite = "def test_endless():\n    while True: pass"
    run(pytester, suite, "--exceptions", str(known)).assert_outcomes(xfailed=1)
