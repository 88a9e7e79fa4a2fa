"""The registrations of PyTorch's own tests of its dispatcher, by their names: made and taken back
in every order they pass through the states that they have in PyTorch.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise, permutations
from typing import Any

import pytest
import torch

import dovetail

Step = tuple[str, str, Callable[..., Any]]
LIBRARIES = (dovetail, torch)

COMPOSITE = "CompositeImplicitAutograd"
EXPLICIT = "CompositeExplicitAutograd"
_NUMBERS = iter(range(10**6))


def schema(text: str = "foo(Tensor x) -> Tensor", alias: str = "") -> Step:
    """Define an operator."""
    return "FRAGMENT", "", lambda m, debug: m.def_(text, alias)


def inferred(name: str = "foo", key: str = "") -> Step:
    """Define an operator by its kernel."""
    return "FRAGMENT", "", lambda m, debug: m.def_name_t_t(name, key, debug)


def both(text: str = "foo(Tensor x) -> Tensor", key: str = "", alias: str = "") -> Step:
    """Define an operator, with a kernel."""
    return "FRAGMENT", "", lambda m, debug: m.def_schema_t_t(text, key, alias, debug)


def kernel(key: str = "", name: str = "foo") -> Step:
    """Register a kernel, by a key given to it."""
    return "IMPL", "", lambda m, debug: m.impl_t_t(name, key, debug)


def block(key: str, name: str = "foo") -> Step:
    """Register a kernel, by the key of the module."""
    return "IMPL", key, lambda m, debug: m.impl_t_t(name, "", debug)


def fallthrough(key: str) -> Step:
    """Have calls pass over a key."""
    return "IMPL", "", lambda m, debug: m.impl("foo", key, m.lib.library.fallthrough_kernel)


def legacy(text: str = "foo(Tensor x) -> Tensor") -> Step:
    """Define an operator of which nothing is said of aliases."""
    return "FRAGMENT", "", lambda m, debug: m.def_legacy(text)


PROGRAMS: dict[str, list[Step]] = {
    "def": [schema(), block("CPU"), block("Autograd"), block("AutogradCPU")],
    "def_impl": [both(), block("CPU"), block("Autograd")],
    "def_only": [schema()],
    "def_legacy": [legacy(), kernel("CPU")],
    "impl_only": [block("CPU"), block("Autograd"), block("AutogradCPU")],
    "def_with_inference": [inferred(), block("CPU"), block("Autograd"), block("AutogradCPU")],
    "def_with_inference_at_a_key": [inferred(key="CPU"), kernel("CUDA")],
    "def_with_explicit_alias": [both(alias="PURE_FUNCTION"), kernel("CPU")],
    "def_conservative": [schema(alias="CONSERVATIVE"), kernel("CPU")],
    "computed_table": [inferred(), block("CPU"), block("XLA"), block("CUDA")],
    "computed_table_with_cpu_math": [schema(), kernel("CPU"), kernel(COMPOSITE)],
    "computed_table_with_autograd": [schema(), kernel("Autograd")],
    "computed_table_with_cpu_autograd_math": [
        schema(), kernel("CPU"), kernel("Autograd"), kernel(COMPOSITE)
    ],
    "computed_table_with_math": [schema(), kernel(COMPOSITE)],
    "computed_table_with_ambiguous_autogradother": [
        schema(), kernel(COMPOSITE), kernel("FPGA")
    ],
    "computed_table_with_cpu_defaultbackend": [schema(), kernel("CPU"), kernel(EXPLICIT)],
    "computed_table_with_cpu_autograd_defaultbackend": [
        schema(), kernel("CPU"), kernel("Autograd"), kernel(EXPLICIT)
    ],
    "computed_table_with_cpu_autograd_math_defaultbackend": [
        schema(), kernel("CPU"), kernel("Autograd"), kernel(EXPLICIT), kernel(COMPOSITE)
    ],
    "computed_table_with_cpu_math_autogradcpu_fallthrough": [
        schema(), kernel("CPU"), kernel(COMPOSITE), fallthrough("AutogradCPU")
    ],
    "overloads": [schema("foo.a(Tensor x) -> Tensor"), schema("foo.b(Tensor x) -> Tensor"),
                  kernel("CPU", "foo.a"), kernel("CPU", "foo.b")],
}  # fmt: skip
"""The steps of each test, in one order of many."""

MOST = 24
"""How many orders are tried."""


class Run:
    """The modules of one run with one library, in a namespace of its own."""

    def __init__(self, lib: Any, steps: list[Step]) -> None:
        self.lib, self.C, self.steps = lib, lib._C, steps
        self.ns = f"dispatcher{next(_NUMBERS)}"
        self.modules: dict[int, Any] = {}

    def make(self, number: int) -> None:
        """Make the module of a step, and what it registers."""
        kind, key, register = self.steps[number]
        module = self.C._dispatch_library(kind, self.ns, key, f"step{number}")
        register(_Module(module, self.lib), f"registered at step{number}:0")
        self.modules[number] = module

    def take_back(self, number: int) -> None:
        """Let go of the module of a step: what it registered goes with it."""
        del self.modules[number]

    def state(self) -> list[str]:
        """Return what is registered and what is computed from it, as both libraries say it."""
        lines: list[str] = []
        for overload in ("foo", "foo.a", "foo.b"):
            name = f"{self.ns}::{overload}"
            if not self.C._dispatch_has_kernel(name):
                continue
            self.C._dispatch_check_invariants(name)
            for text in (self.C._dispatch_dump(name), self.C._dispatch_dump_table(name)):
                lines += [_line(each, self.ns) for each in text.splitlines()]
        return sorted(line for line in lines if line)


class _Module:
    """A module, and the library that it is of."""

    def __init__(self, module: Any, lib: Any) -> None:
        self.module, self.lib = module, lib

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)


def _line(line: str, ns: str) -> str:
    """Return a line without what the libraries say in their own words; nothing for a fallback that
    comes with one.
    """
    line = line.replace(ns, "test").partition(" :: ")[0]
    if "[backend fallback]" in line:
        return ""
    key = line.partition(":")[0].partition("[")[0]
    known = key in ("name", "schema", "debug", "alias analysis kind")
    if _is_of_a_later_backend(key):
        return ""
    return line if known or hasattr(torch._C.DispatchKey, key) or "step" in line else ""


def _is_of_a_later_backend(key: str) -> bool:
    """Say whether a key belongs to a backend that another test has registered."""
    return hasattr(dovetail._C.DispatchKey, key) and not hasattr(torch._C.DispatchKey, key)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Leave out the warning of a kernel over another one, which comes once."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Overriding a previously registered kernel")
        yield


def reference(name: str) -> dict[frozenset[int], list[str]]:
    """Return PyTorch's state for every subset of the steps, registered in the order of the program:
    in others it may go on with what was registered earlier, see ``docs/differences.md``.
    """
    steps = PROGRAMS[name]
    states = {}
    for mask in range(1 << len(steps)):
        run = Run(torch, steps)
        for step in range(len(steps)):
            if mask >> step & 1:
                run.make(step)
        states[frozenset(run.modules)] = run.state()
    return states


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_order_passes_through_the_states_of_pytorch(name: str) -> None:
    expected = reference(name)
    orders = list(permutations(range(len(PROGRAMS[name]))))
    run = Run(dovetail, PROGRAMS[name])
    for number, order in enumerate(orders[:MOST]):
        for step in order:
            run.make(step)
        assert run.state() == expected[frozenset(run.modules)], order
        removal = orders[number * 7 % len(orders)]
        for step in removal:
            run.take_back(step)
            assert run.state() == expected[frozenset(run.modules)], (order, removal)


def test_the_states_tell_programs_apart() -> None:
    run = Run(dovetail, PROGRAMS["def"])
    states = [run.state()]
    for step in range(4):
        run.make(step)
        states.append(run.state())
    assert all(before != after for before, after in pairwise(states))
    assert "CPU: registered at step1:0 [kernel]" in states[-1]
    assert "Autograd[alias]: registered at step2:0" in states[-1]


REFUSED: dict[str, list[Step]] = {
    "multiple_def_error": [schema(), schema()],
    "multiple_def_of_other_schema": [schema(), schema("foo(Tensor x, Tensor y) -> Tensor")],
    "multiple_def_alias_mismatch": [schema(alias="PURE_FUNCTION"), schema(alias="CONSERVATIVE")],
    "def_impl_schema_mismatch": [schema("foo(Tensor x, Tensor y) -> Tensor"), kernel("CPU")],
    "def_schema_mismatch": [both("foo(Tensor x, Tensor y) -> Tensor")],
    "impl_def_schema_mismatch": [kernel("CPU"), schema("foo(Tensor x, Tensor y) -> Tensor")],
    "def_inferred_twice": [inferred(), schema()],
    "def_in_impl": [("IMPL", "CPU", lambda m, debug: m.def_("foo(Tensor x) -> Tensor"))],
    "name_without_schema": [("FRAGMENT", "", lambda m, debug: m.def_legacy("foo"))],
    "alias_unknown": [schema(alias="NONE_AT_ALL")],
    "key_unknown": [kernel("NoKey")],
    "key_of_block_mismatch": [("IMPL", "CPU", lambda m, debug: m.impl_t_t("foo", "CUDA", debug))],
    "key_of_block_unknown": [("IMPL", "NoKey", lambda m, debug: None)],
    "kind_unknown": [("NONE", "", lambda m, debug: None)],
    "key_of_def": [("DEF", "CPU", lambda m, debug: None)],
    "other_namespace": [kernel("CPU", "elsewhere::foo")],
    "fallback_of_a_namespace": [("IMPL", "CPU", lambda m, debug: m.fallback_fallthrough())],
    "two_libraries": [("DEF", "", lambda m, debug: None), ("DEF", "", lambda m, debug: None)],
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_pytorch_refuses_is_refused_and_changes_nothing(name: str) -> None:
    steps = REFUSED[name]
    texts = []
    for lib in LIBRARIES:
        run = Run(lib, steps)
        for step in range(len(steps) - 1):
            run.make(step)
        before = run.state()
        with pytest.raises(RuntimeError) as error:
            run.make(len(steps) - 1)
        texts.append(str(error.value))
        if lib is dovetail:
            assert run.state() == before
    words = [set(re.findall(r"[a-zA-Z]{4,}", text)) for text in texts]
    assert len(words[0] & words[1]) >= 3, texts


def test_multiple_fallback() -> None:
    for lib in LIBRARIES:
        one, other = (lib._C._dispatch_library("IMPL", "_", "XLA") for _ in range(2))
        one.fallback_fallthrough()
        with pytest.raises(RuntimeError, match="Tried to register multiple backend fallbacks"):
            other.fallback_fallthrough("XLA")
        assert lib._C._dispatch_has_backend_fallback(lib._C.DispatchKey.XLA)
        one.reset()
        third = lib._C._dispatch_library("IMPL", "_", "XLA")
        third.fallback_fallthrough("XLA")
        assert lib._C._dispatch_has_backend_fallback(lib._C.DispatchKey.XLA)
        del third
        assert not lib._C._dispatch_has_backend_fallback(lib._C.DispatchKey.XLA)


def test_overwrite_math() -> None:
    for lib in LIBRARIES:
        run = Run(lib, [schema(), kernel(COMPOSITE), kernel(COMPOSITE)])
        for step in range(3):
            run.make(step)
        lines = run.state()
        assert f"{COMPOSITE}[alias]: registered at step2:0" in lines
        assert f"{COMPOSITE}[alias] (inactive): registered at step1:0" in lines
        run.take_back(2)
        assert f"{COMPOSITE}[alias]: registered at step1:0" in run.state()


def test_find_dangling_impls() -> None:
    for lib in LIBRARIES:
        run = Run(lib, [kernel("CPU")])
        before = lib._C._dispatch_find_dangling_impls()
        run.make(0)
        (new,) = set(lib._C._dispatch_find_dangling_impls()) - set(before)
        assert new.startswith(f"name: {run.ns}::foo\nschema: (none)\nCPU: registered at step0:0")
        run.take_back(0)
        assert lib._C._dispatch_find_dangling_impls() == before


def test_a_kernel_of_one_tensor_returns_it() -> None:
    for lib in LIBRARIES:
        run = Run(lib, [both(), kernel("CPU")])
        x = lib.ones(2)
        run.make(0)
        assert getattr(lib.ops, run.ns).foo(x).tolist() == [1.0, 1.0]
        run.make(1)
        assert getattr(lib.ops, run.ns).foo(x).tolist() == [1.0, 1.0]


@pytest.mark.cpu_only(reason="the kernels are for the key CPU")
@pytest.mark.parametrize("lib", LIBRARIES, ids=["dovetail", "torch"])
def test_a_python_kernel_runs_with_and_without_its_keys(lib: Any) -> None:
    ns = f"dispatcher{next(_NUMBERS)}"
    keys_of_calls: list[Any] = []

    def kernel_with_keys(keys: Any, x: Any) -> Any:
        keys_of_calls.append(keys)
        return x * 3

    module = lib._C._dispatch_library("FRAGMENT", ns, "")
    assert module.define("bar(Tensor x) -> Tensor") == "bar"
    module.impl("bar", lib._C.DispatchKey.CPU, lambda x: x * 2)
    assert getattr(lib.ops, ns).bar(lib.ones(1)).tolist() == [2.0]
    module.impl("bar", lib._C.DispatchKey.AutogradCPU, kernel_with_keys, True)
    assert getattr(lib.ops, ns).bar(lib.ones(1)).tolist() == [3.0]
    assert [keys.has(lib._C.DispatchKey.CPU) for keys in keys_of_calls] == [True]


# -- queries ---------------------------------------------------------------------------------------

QUERIES: dict[str, Callable[[Any], Any]] = {
    "print_registrations_for_dispatch_key_invalid": lambda C: (
        C._dispatch_print_registrations_for_dispatch_key("foo")
    ),
    "get_registrations_for_dispatch_key_invalid": lambda C: (
        C._dispatch_get_registrations_for_dispatch_key("foo")
    ),
    "backends of AutogradCPU": lambda C: _keys(C, C.DispatchKey.AutogradCPU),
    "backends of AutogradNestedTensor": lambda C: _keys(C, C.DispatchKey.AutogradNestedTensor),
    "backends of CPU": lambda C: _keys(C, C.DispatchKey.CPU),
    "backends of Autograd": lambda C: _keys(C, C.DispatchKey.Autograd),
    "kernel at an alias": lambda C: C._dispatch_get_computed_kernel_for_dispatch_key(
        "aten::add.Tensor", "Autograd"
    ),
    "kernel of no operator": lambda C: C._dispatch_get_computed_kernel_for_dispatch_key(
        "aten::nope", "CPU"
    ),
    "kernel at no key": lambda C: C._dispatch_get_computed_kernel_for_dispatch_key(
        "aten::add.Tensor", "Nope"
    ),
    "schema": lambda C: str(C._get_schema("aten::relu", "")),
    "schema of no overload": lambda C: C._get_schema("aten::relu", "none"),
    "schemas of an unknown operator": lambda C: C._jit_get_schemas_for_operator("aten::nope"),
    "schemas without namespace": lambda C: C._jit_get_schemas_for_operator("relu"),
    "schemas": lambda C: str(C._jit_get_schemas_for_operator("aten::mul")[0]),
}


def _keys(C: Any, key: Any) -> str:
    names = re.findall(r"\w+", repr(C._dispatch_get_backend_keyset_from_autograd(key)))
    return " ".join([name for name in names if not _is_of_a_later_backend(name)])


def _meta_in_tls(C: Any) -> list[bool]:
    def answers() -> list[bool]:
        found = [C._meta_in_tls_dispatch_include()]
        for wanted in (True, False):
            C._set_meta_in_tls_dispatch_include(wanted)
            found.append(C._meta_in_tls_dispatch_include())
        return found

    # In a thread of its own: PyTorch keeps the backend of the key, and calls without tensors would
    # go there from then on.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(answers).result()


QUERIES["meta in tls"] = _meta_in_tls


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_answers_as_in_pytorch(name: str) -> None:
    results = []
    for lib in LIBRARIES:
        try:
            results.append(QUERIES[name](lib._C))
        except RuntimeError as error:
            results.append(str(error)[:24])
    assert results[0] == results[1]


@pytest.mark.cpu_only(reason="the kernels are for the key CPU")
def test_a_kernel_found_at_a_key_can_be_called() -> None:
    for lib in LIBRARIES:
        found = lib._C._dispatch_get_computed_kernel_for_dispatch_key(
            "aten::add.Tensor", lib._C.DispatchKey.CPU
        )
        x = lib.ones(2)
        keys = lib._C.DispatchKeySet(lib._C.DispatchKey.CPU)
        assert found.call_boxed(keys, x, x).tolist() == [2.0, 2.0]
        assert isinstance(found, lib._C._SafeKernelFunction)


def test_names_of_operators_at_a_key_are_printed(capfd: pytest.CaptureFixture[str]) -> None:
    for lib in LIBRARIES:
        run = Run(lib, [schema(), kernel("QuantizedXPU")])
        run.make(0)
        run.make(1)
        lib._C._dispatch_print_registrations_for_dispatch_key("QuantizedXPU")
        assert f"{run.ns}::foo" in capfd.readouterr().out.splitlines()


def test_a_handle_is_a_dispatch_operator_handle() -> None:
    for lib in LIBRARIES:
        handle = lib._C._dispatch_find_schema_or_throw("aten::relu", "")
        assert isinstance(handle, lib._C._DispatchOperatorHandle)
        assert isinstance(
            lib._C._dispatch_library("FRAGMENT", "dispatcher", ""), lib._C._DispatchModule
        )


def test_invariants_hold_for_all_operators() -> None:
    for lib in LIBRARIES:
        lib._C._dispatch_check_all_invariants()
