"""The registrations of one TORCH_LIBRARY block, made from Python and taken back with it."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

from dovetail_dispatcher import Tag, fallthrough_kernel, ops
from dovetail_dispatcher._C import (
    _dispatch_dump,
    _dispatch_dump_table,
    _dispatch_has_backend_fallback,
    _dispatch_has_kernel,
    _dispatch_library,
)
from dovetail_dispatcher.table import registry
from dovetail_kernel import DispatchKey, DispatchKeySet, TensorBase

Tensors = Callable[..., TensorBase]


def test_what_a_module_registers_goes_with_it(snapshot: Any, tensor: Tensors) -> None:
    before = snapshot()
    module = _dispatch_library("DEF", "dm", "", "here.py", 7)
    assert module.def_("f(Tensor x) -> Tensor") is module
    assert module.impl_t_t("f", "CPU", "the kernel") is module
    x = tensor([1.0])
    assert ops.dm.f(x) is x
    dump = _dispatch_dump("dm::f")
    assert "CPU: registered at here.py:7 :: the kernel" in dump
    assert "alias analysis kind: FROM_SCHEMA" in dump
    assert registry.find("dm::f", "").defined_at == "here.py:7"
    del module
    gc.collect()
    assert snapshot() == before and not _dispatch_has_kernel("dm::f")


def test_reset_takes_everything_back_at_once(snapshot: Any) -> None:
    before = snapshot()
    module = _dispatch_library("FRAGMENT", "dm", "")
    module.def_("f(Tensor x) -> Tensor").impl_t_t("f")
    assert snapshot() != before
    module.reset()
    assert snapshot() == before
    module.def_("f(Tensor x) -> Tensor")
    assert _dispatch_has_kernel("dm::f")
    module.reset()


def test_one_module_owns_a_namespace_and_the_same_code_replaces_nothing() -> None:
    def make() -> Any:
        return _dispatch_library("DEF", "dm", "")

    module = make()
    with pytest.raises(RuntimeError, match="dm"):
        make()
    module.reset()
    assert make() is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("DEFINE", "dm", ""), "could not parse DEFINE. Choose from DEF, IMPL, FRAGMENT"),
        (("DEF", "_", ""), "wildcard namespace _"),
        (("DEF", "dm", "CPU"), "cannot have a dispatch key"),
        (("IMPL", "dm", "Nope"), "could not parse dispatch key: Nope"),
    ],
)
def test_a_module_that_cannot_be_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        _dispatch_library(*arguments)


# -- definitions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alias", "shown"),
    [
        ("", "FROM_SCHEMA"),
        ("CONSERVATIVE", "CONSERVATIVE"),
        ("FROM_SCHEMA", "FROM_SCHEMA"),
        ("PURE_FUNCTION", "PURE_FUNCTION"),
    ],
)
def test_what_is_known_of_aliases_is_dumped(alias: str, shown: str) -> None:
    module = _dispatch_library("FRAGMENT", "dm", "")
    module.def_("f(Tensor x) -> Tensor", alias)
    assert f"alias analysis kind: {shown}\n" in _dispatch_dump("dm::f")
    assert module.define("g.o(Tensor x) -> Tensor", alias) == "g"
    assert f"alias analysis kind: {shown}\n" in _dispatch_dump("dm::g.o")


def test_of_a_legacy_definition_nothing_is_known() -> None:
    module = _dispatch_library("FRAGMENT", "dm", "")
    assert module.def_legacy("f(Tensor x) -> Tensor") is module
    assert "alias analysis kind: CONSERVATIVE (default)" in _dispatch_dump("dm::f")


def test_definitions_have_tags() -> None:
    module = _dispatch_library("FRAGMENT", "dm", "")
    module.define("f(Tensor x) -> Tensor", tags=[Tag.pointwise])
    assert ops.dm.f.default.tags == [Tag.pointwise]


def test_an_operator_of_one_tensor_needs_no_schema(tensor: Tensors) -> None:
    module = _dispatch_library("FRAGMENT", "dm", "")
    assert module.def_name_t_t("f") is module
    assert module.def_name_t_t("g", "CPU", "own name") is module
    assert module.def_schema_t_t("h(Tensor x) -> Tensor", "CPU", "PURE_FUNCTION", "third") is module
    x = tensor([1.0])
    assert [ops.dm.f(x), ops.dm.g(x), ops.dm.h(x)] == [x, x, x]
    texts = [_dispatch_dump(f"dm::{name}") for name in "fgh"]
    assert (
        "CompositeImplicitAutograd[alias]: registered at /dev/null:0 :: default_def_name_t_t"
        in texts[0]
    )
    assert "schema: dm::f(Tensor _0) -> Tensor _0" in texts[0]
    assert ":: own name" in texts[1] and "CPU: registered at /dev/null:0 :: third" in texts[2]
    assert "PURE_FUNCTION" in texts[2]


def test_a_definition_whose_kernel_is_refused_is_taken_back() -> None:
    module = _dispatch_library("FRAGMENT", "dm", "")
    with pytest.raises(RuntimeError, match="Inferred operator schema for a kernel function"):
        module.def_schema_t_t("f(Tensor x, Tensor y) -> Tensor")
    assert not _dispatch_has_kernel("dm::f")


@pytest.mark.parametrize(
    ("define", "message"),
    [
        (lambda m: m.def_("f(Tensor x) -> Tensor", "WHAT"), "could not parse WHAT. Choose from"),
        (lambda m: m.def_("f"), "only the operator name was given: f"),
        (lambda m: m.def_("other::f(Tensor x) -> Tensor"), "namespace"),
        (lambda m: m.def_("f(Tensor x -> Tensor"), "expected"),
    ],
)
def test_a_definition_that_cannot_be_is_refused(define: Any, message: str) -> None:
    module = _dispatch_library("FRAGMENT", "dm", "")
    with pytest.raises(RuntimeError, match=message):
        define(module)


def test_a_module_of_kernels_defines_nothing() -> None:
    module = _dispatch_library("IMPL", "dm", "CPU", "here.py", 3)
    with pytest.raises(RuntimeError, match=r'def\("f"\): Cannot define .* made at here.py:3'):
        module.def_("f(Tensor x) -> Tensor")


def test_a_kernel_that_came_first_refuses_a_schema_that_it_cannot_have() -> None:
    kernels = _dispatch_library("IMPL", "dm", "CPU")
    kernels.impl_t_t("f")
    module = _dispatch_library("FRAGMENT", "dm", "")
    with pytest.raises(RuntimeError, match=r"Inferred operator schema .*::f\(Tensor x, int n\)"):
        module.def_("f(Tensor x, int n) -> Tensor")
    module.def_("f(Tensor x) -> Tensor")


# -- kernels ---------------------------------------------------------------------------------------


def test_a_kernel_stands_at_the_key_of_its_module_unless_told(tensor: Tensors) -> None:
    module = _dispatch_library("FRAGMENT", "dm", "")
    module.def_("f(Tensor x) -> Tensor")
    kernels = _dispatch_library("IMPL", "dm", "CPU")
    kernels.impl("f", "", lambda x: tensor([2.0]))
    assert ops.dm.f(tensor([1.0])).array.tolist() == [2.0]
    with pytest.raises(RuntimeError, match="inconsistent with the dispatch key of the enclosing"):
        kernels.impl("f", "CUDA", lambda x: x)
    kernels.reset()
    with pytest.raises(NotImplementedError):
        ops.dm.f(tensor([1.0]))


def test_a_kernel_may_have_the_keys_of_the_call(tensor: Tensors) -> None:
    module = _dispatch_library("FRAGMENT", "dm", "")
    module.def_("f(Tensor x) -> Tensor")
    seen: list[Any] = []

    def kernel(keys: Any, x: TensorBase) -> TensorBase:
        seen.append(keys)
        return x

    module.impl("f", DispatchKey.CPU, kernel, with_keyset=True)
    module.impl("f", DispatchKey.AutogradCPU, fallthrough_kernel)
    x = tensor([1.0])
    assert ops.dm.f(x) is x and seen[0].has(DispatchKey.CPU)
    assert "AutogradCPU: fallthrough" in _dispatch_dump_table("dm::f")


# -- fallbacks -------------------------------------------------------------------------------------


def test_a_fallback_runs_operators_without_kernel_until_it_is_taken_back(tensor: Tensors) -> None:
    module = _dispatch_library("FRAGMENT", "dm", "")
    module.def_("f(Tensor x, *, int n=2) -> Tensor")
    module.impl("f", "CPU", lambda x, *, n: x)
    fallbacks = _dispatch_library("IMPL", "_", "", "here.py", 3)
    seen: list[Any] = []

    def run(op: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append((str(op), kwargs))
        return args[0]

    fallbacks.fallback("PrivateUse3", run)
    assert _dispatch_has_backend_fallback(DispatchKey.PrivateUse3)
    key = DispatchKey.PrivateUse3
    x = tensor([1.0])
    assert ops.dm.f.default.redispatch(DispatchKeySet(key), x, n=3) is x
    assert seen == [("dm.f.default", {"n": 3})]
    with pytest.raises(RuntimeError, match=r"multiple backend fallbacks .* here.py:3"):
        fallbacks.fallback("PrivateUse3", run)
    fallbacks.reset()
    assert not _dispatch_has_backend_fallback(key)


def test_a_fallback_may_have_the_keys_of_the_call(tensor: Tensors) -> None:
    module = _dispatch_library("FRAGMENT", "dm", "")
    module.def_("f(Tensor x) -> Tensor")
    fallbacks = _dispatch_library("IMPL", "_", "PrivateUse3")
    fallbacks.fallback("", lambda keys, op, x: keys, with_keyset=True)
    keys = DispatchKeySet(DispatchKey.PrivateUse3)
    with pytest.raises(RuntimeError, match="DispatchKeySet"):
        ops.dm.f.default.redispatch(keys, tensor([1.0]))  # of no Tensor: the keys were given


def test_calls_pass_over_a_key_whose_fallback_falls_through(tensor: Tensors) -> None:
    module = _dispatch_library("FRAGMENT", "dm", "")
    module.def_("f(Tensor x) -> Tensor").impl_t_t("f", "CPU")
    fallbacks = _dispatch_library("IMPL", "_", "PrivateUse3")
    assert fallbacks.fallback_fallthrough() is fallbacks
    assert "PrivateUse3: fallthrough" in _dispatch_dump_table("dm::f")
    fallbacks.reset()


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (("IMPL", "dm", "CPU"), "apply to only a single namespace .*dm.* not supported"),
        (("IMPL", "_", ""), "a fallback needs a key"),
    ],
)
def test_a_fallback_that_cannot_be_is_refused(module: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        _dispatch_library(*module).fallback_fallthrough()


def test_the_wildcard_namespace_has_no_operators() -> None:
    with pytest.raises(RuntimeError, match="wildcard namespace _ has no operators"):
        _dispatch_library("IMPL", "_", "CPU").impl_t_t("f")
