"""The keys of a call: which kernels they lead to, `redispatch` with others, and fallthrough."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dovetail_dispatcher import Library, fallthrough_kernel, ops
from dovetail_dispatcher._C import _after_autograd_keyset, _dispatch_keys
from dovetail_kernel import (
    DispatchKey,
    DispatchKeySet,
    TensorBase,
    is_grad_enabled,
    set_grad_enabled,
    set_state,
    state,
)
from dovetail_kernel.keys.state import inference_mode_on

Libraries = Callable[..., Library]
Tensors = Callable[..., TensorBase]


def test_the_autograd_kernel_runs_without_requires_grad_and_in_no_grad_but_not_in_inference_mode(
    library: Libraries, tensor: Tensors
) -> None:
    # Trap 2.
    lib = library("trap", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x, "CPU")
    seen = []

    def autograd(keys: DispatchKeySet, x: TensorBase) -> TensorBase:
        seen.append((repr(keys), is_grad_enabled()))
        return ops.trap.f.default.redispatch(keys & _after_autograd_keyset, x)

    lib.impl("f", autograd, "Autograd", with_keyset=True)
    x = tensor()
    before = state()
    ops.trap.f(x)
    set_grad_enabled(False)
    ops.trap.f(x)
    set_state(inference_mode_on(before))
    ops.trap.f(x)
    set_state(before)
    assert seen == [
        ("DispatchKeySet(CPU, AutogradCPU)", True),
        ("DispatchKeySet(CPU, AutogradCPU)", False),
    ]


def test_ambiguity_raises_only_when_called(library: Libraries, tensor: Tensors) -> None:
    # Trap 5.
    lib = library("trap", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x, "SparseCPU")
    lib.impl("f", lambda x: x, "CompositeImplicitAutograd")
    with pytest.raises(
        RuntimeError, match=r"This makes the backend kernel unreachable.*SparseCPU registered at"
    ):
        ops.trap.f.default.redispatch(DispatchKeySet(DispatchKey.AutogradOther), tensor())


def test_redispatch_takes_the_key_set_as_it_is(library: Libraries, tensor: Tensors) -> None:
    # Trap 6.
    lib = library("trap", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x, "CPU")
    x = tensor()
    keys = _dispatch_keys(x) & _after_autograd_keyset
    assert repr(keys) == "DispatchKeySet(CPU, ADInplaceOrView)"
    with pytest.raises(
        RuntimeError,
        match="fallthrough_kernel was executed but it should have been short-circuited",
    ):
        ops.trap.f.default.redispatch(keys, x)
    assert ops.trap.f.default.redispatch(DispatchKeySet(DispatchKey.CPU), x) is x


def test_redispatch_to_no_keys_hits_undefined(library: Libraries, tensor: Tensors) -> None:
    # Trap 6.
    lib = library("trap", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x, "CPU")
    with pytest.raises(
        NotImplementedError, match="There were no tensor arguments to this function"
    ):
        ops.trap.f.default.redispatch(DispatchKeySet(), tensor())


def test_a_fallthrough_takes_the_key_away_for_the_winning_backend_and_does_not_slide(
    library: Libraries, tensor: Tensors
) -> None:
    # Trap 7.
    lib = library("trap", "DEF")
    lib.define("f(Tensor x, Tensor y) -> str")
    lib.impl("f", fallthrough_kernel, "Meta")
    lib.impl("f", lambda x, y: "cpu", "CPU")
    assert ops.trap.f(tensor(), tensor()) == "cpu"
    with pytest.raises(
        NotImplementedError, match="There were no tensor arguments to this function"
    ):
        ops.trap.f(tensor(), tensor(device="meta"))
