"""Fallbacks: kernels of a key for every operator."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from dovetail_dispatcher import Library, explain, fallthrough_kernel, ops
from dovetail_dispatcher.table import registry
from dovetail_kernel import (
    AutoDispatchBelowAutograd,
    DispatchKey,
    IncludeDispatchKeyGuard,
    TensorBase,
    backend,
)

Libraries = Callable[..., Library]
Snapshot = Callable[[], tuple[Any, ...]]
Tensors = Callable[..., TensorBase]


def same(x: Any, *_args: Any, **_kwargs: Any) -> Any:
    return x


def test_a_fallback_gets_the_operator_and_serves_operators_to_come(
    library: Libraries, tensor: Tensors
) -> None:
    library("_", "IMPL").fallback(lambda op, *args, **kwargs: f"{op} {len(args)} {kwargs}", "CPU")
    library("ll", "DEF").define("f(Tensor x, *, int n=1) -> str")
    assert ops.ll.f(tensor(), n=2) == "ll.f.default 1 {'n': 2}"


def test_a_fallback_with_keyset_gets_the_keys_first(library: Libraries, tensor: Tensors) -> None:
    library("_", "IMPL", "CPU").fallback(lambda keys, op, x: f"{keys} {op}", with_keyset=True)
    library("ll", "DEF").define("f(Tensor x) -> str")
    assert ops.ll.f(tensor()) == "DispatchKeySet(CPU) ll.f.default"


def test_a_kernel_of_its_own_comes_before_the_fallback(library: Libraries, tensor: Tensors) -> None:
    library("_", "IMPL").fallback(lambda op, *args: "fallback", "CPU")
    lib = library("ll", "DEF")
    lib.define("f(Tensor x) -> str")
    lib.impl("f", lambda x: "own", "CPU")
    assert ops.ll.f(tensor()) == "own"


def test_a_fallback_at_an_alias_serves_its_runtime_keys_and_gives_back_the_built_in_ones(
    library: Libraries, snapshot: Snapshot
) -> None:
    before = snapshot()
    lib = library("_", "IMPL")
    lib.fallback(fallthrough_kernel, "Autograd")
    assert all(
        kernel.is_fallthrough
        for key, kernel in registry.fallbacks.items()
        if key.name.startswith("AutogradC")
    )
    lib._destroy()
    assert snapshot() == before


def test_a_fallback_at_an_alias_serves_backends_that_come_later(library: Libraries) -> None:
    lib = library("_", "IMPL")
    lib.fallback(fallthrough_kernel, "Autograd")
    backend("laterdevice", create=True)
    key = DispatchKey["AutogradLATERDEVICE"]
    assert registry.fallbacks[key].is_fallthrough
    lib._destroy()
    assert not registry.fallbacks[key].is_fallthrough


@pytest.mark.parametrize(
    ("ns", "args", "error", "words"),
    [
        (
            "ll",
            (same, "CPU"),
            RuntimeError,
            'Fallback can only be registered using library fragment on the global namespace "_"',
        ),
        ("_", (same,), AssertionError, "dispatch_key must not be empty"),
        ("_", (3, "CPU"), TypeError, "required to be a callable"),
        ("_", (same, "Foo"), RuntimeError, "could not parse dispatch key: Foo"),
    ],
)
def test_a_wrong_fallback_is_refused(
    ns: str,
    args: tuple[Any, ...],
    error: type[Exception],
    words: str,
    library: Libraries,
    snapshot: Snapshot,
) -> None:
    before = snapshot()
    with pytest.raises(error, match=re.escape(words)):
        library(ns, "IMPL").fallback(*args)
    assert snapshot() == before


def test_a_second_fallback_at_a_key_is_refused_and_both_are_named(library: Libraries) -> None:
    library("_", "IMPL").fallback(same, "CPU")
    with pytest.raises(
        RuntimeError, match="multiple backend fallbacks for the same dispatch key CPU; previous reg"
    ) as e:
        library("_", "IMPL").fallback(same, "CPU")
    assert len(re.findall(r"registered at \S+\.py:\d+", str(e.value))) == 2


def test_the_wildcard_library_has_no_operators(library: Libraries) -> None:
    with pytest.raises(RuntimeError, match="library of the wildcard namespace _ has no operators"):
        library("_", "IMPL").impl("f", same, "CPU")


# -- a fallthrough as the kernel of a call ---------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    [
        *("", "CompositeImplicitAutograd", "CompositeExplicitAutograd"),
        "CompositeExplicitAutogradNonFunctional",
    ],
)
def test_a_call_all_of_whose_keys_fall_through_raises(
    key: str, library: Libraries, tensor: Tensors
) -> None:
    lib = library("ll", "DEF")
    lib.define("f(Tensor x) -> str")
    lib.impl("f", fallthrough_kernel, key)
    expected = pytest.raises(RuntimeError, match=r"fallthrough_kernel was executed.*register a ker")
    for x in (tensor(), tensor(device="meta")):
        with expected:
            ops.ll.f(x)
        with AutoDispatchBelowAutograd(), expected:
            ops.ll.f(x)


@pytest.mark.parametrize("key", ["Conjugate", "Negative", "ZeroTensor", "PythonTLSSnapshot"])
def test_a_key_that_no_tensor_has_passes_the_call_on_to_the_keys_below(
    key: str, library: Libraries, tensor: Tensors
) -> None:
    lib = library("ll", "DEF")
    lib.define("f(Tensor x) -> str")
    lib.impl("f", lambda keys, x: str(keys), "CPU", with_keyset=True)
    with IncludeDispatchKeyGuard(DispatchKey[key]):
        assert ops.ll.f(tensor()) == "DispatchKeySet(CPU)"
        assert key in explain(ops.ll.f, tensor()).keys
