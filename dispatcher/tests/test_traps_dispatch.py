"""PyTorch's traps of dispatch, as its users know them (numbered as in the list of twenty)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dovetail_dispatcher import Library, custom_op, dispatch_table, fallthrough_kernel, ops
from dovetail_dispatcher._C import (
    _after_autograd_keyset,
    _dispatch_check_invariants,
    _dispatch_keys,
)
from dovetail_kernel import (
    DispatchKey,
    DispatchKeySet,
    TensorBase,
    backend,
    is_grad_enabled,
    set_grad_enabled,
    set_state,
    state,
    wrap,
)
from dovetail_kernel.keys.state import inference_mode_on

Libraries = Callable[..., Library]
Tensors = Callable[..., TensorBase]
CIA, CEA = "CompositeImplicitAutograd", "CompositeExplicitAutograd"


@pytest.mark.parametrize(
    ("args", "kwargs", "seen"),
    [
        ((), {}, "a=10 b=20 c=30"),
        ((1, 7), {"c": 3}, "a=1 b=7 c=30"),
        ((5, 2), {"c": 9}, "a=5 b=20 c=9"),
    ],
)
def test_1_arguments_equal_to_their_default_are_stripped_and_the_kernels_own_defaults_win(
    args: tuple[int, ...], kwargs: dict[str, int], seen: str, library: Libraries, tensor: Tensors
) -> None:
    lib = library("trap", "DEF")
    lib.define("f(Tensor x, int a=1, int b=2, *, int c=3) -> str")
    lib.impl("f", lambda x, a=10, b=20, *, c=30: f"a={a} b={b} c={c}", "CPU")
    assert ops.trap.f(tensor(), *args, **kwargs) == seen


def test_2_the_autograd_kernel_runs_without_requires_grad_and_in_no_grad_but_not_in_inference_mode(
    library: Libraries, tensor: Tensors
) -> None:
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


@pytest.mark.parametrize(
    ("registered", "tag"),
    [
        ((CIA, "Autograd"), "math kernel"),
        (("CPU", CIA), "backend fallback"),
        (("CPU", CIA, "Autograd"), "autograd kernel"),
        ((CEA, CIA), "backend fallback"),
    ],
)
def test_3_a_composite_fills_an_autograd_slot_only_if_the_backend_has_no_kernel(
    registered: tuple[str, ...], tag: str, library: Libraries
) -> None:
    lib = library("trap", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    for key in registered:
        lib.impl("f", lambda x: x, key)
    assert dispatch_table("trap::f")["AutogradCPU"].tag == tag


@pytest.mark.parametrize("order", [(CIA, CEA), (CEA, CIA)])
def test_4_the_live_table_does_not_depend_on_the_order_of_registration(
    order: tuple[str, str], library: Libraries, tensor: Tensors
) -> None:
    lib = library("trap", "DEF")
    lib.define("f(Tensor x) -> str")
    for key in order:
        lib.impl("f", lambda x, key=key: key, key)
        ops.trap.f(tensor())
    assert ops.trap.f(tensor()) == CEA
    _dispatch_check_invariants("trap::f")


@pytest.mark.parametrize(
    ("registered", "tag"),
    [
        (("SparseCPU", CIA), "ambiguous autogradother"),
        (("SparseCPU", CEA, CIA, "Autograd"), "ambiguous autogradother"),
        (("SparseCPU", CIA, "AutogradOther"), "kernel"),
    ],
)
def test_5_a_composite_beside_a_sparse_kernel_is_ambiguous_at_AutogradOther(
    registered: tuple[str, ...], tag: str, library: Libraries
) -> None:
    lib = library("trap", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    for key in registered:
        lib.impl("f", lambda x: x, key)
    assert dispatch_table("trap::f")["AutogradOther"].tag == tag


def test_5_ambiguity_raises_only_when_called(library: Libraries, tensor: Tensors) -> None:
    lib = library("trap", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x, "SparseCPU")
    lib.impl("f", lambda x: x, CIA)
    with pytest.raises(
        RuntimeError, match=r"This makes the backend kernel unreachable.*SparseCPU registered at"
    ):
        ops.trap.f.default.redispatch(DispatchKeySet(DispatchKey.AutogradOther), tensor())


def test_6_redispatch_takes_the_key_set_as_it_is(library: Libraries, tensor: Tensors) -> None:
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


def test_6_redispatch_to_no_keys_hits_undefined(library: Libraries, tensor: Tensors) -> None:
    lib = library("trap", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x, "CPU")
    with pytest.raises(
        NotImplementedError, match="There were no tensor arguments to this function"
    ):
        ops.trap.f.default.redispatch(DispatchKeySet(), tensor())


def test_7_a_fallthrough_takes_the_key_away_for_the_winning_backend_and_does_not_slide(
    library: Libraries, tensor: Tensors
) -> None:
    lib = library("trap", "DEF")
    lib.define("f(Tensor x, Tensor y) -> str")
    lib.impl("f", fallthrough_kernel, "Meta")
    lib.impl("f", lambda x, y: "cpu", "CPU")
    assert ops.trap.f(tensor(), tensor()) == "cpu"
    with pytest.raises(
        NotImplementedError, match="There were no tensor arguments to this function"
    ):
        ops.trap.f(tensor(), tensor(device="meta"))


def test_9_a_custom_op_may_not_return_its_argument_and_an_undeclared_write_goes_unnoticed(
    tensor: Tensors,
) -> None:
    def fn(x: TensorBase, mode: int) -> TensorBase:
        if mode:
            return x
        x.array += 1
        return wrap(x.array.copy(), backend("cpu"))

    op = custom_op("trap9::c", fn, mutates_args=(), schema="(Tensor x, int mode) -> Tensor")
    x = tensor([1.0, 1.0])
    op(x, 0)
    assert x.array.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match=r"must not also be an input to this custom operator"):
        op(x, 1)
    op._lib._destroy()


def test_10_a_packet_takes_the_first_overload_that_fits_with_lax_casts(
    library: Libraries, tensor: Tensors
) -> None:
    lib = library("trap", "DEF")
    for name, kind in (("i", "int"), ("t", "Tensor"), ("s", "Scalar")):
        lib.define(f"f.{name}({kind} x) -> str")
        lib.impl(f"f.{name}", lambda x, name=name: name, CEA)
    values = [1, True, tensor(2.5), tensor([1.0, 1.0]), None, 1.5, 1j]
    assert [ops.trap.f(value) for value in values] == list("iiittss")
    with pytest.raises(RuntimeError, match="failed to match any schema:\n"):
        ops.trap.f("a")
