"""`get_kernel` and `get_ctx`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dovetail_dispatcher import Library, custom_op, get_ctx, get_kernel, ops
from dovetail_kernel import DispatchKey, DispatchKeySet, TensorBase

Tensors = Callable[..., TensorBase]
CPU = DispatchKeySet(DispatchKey.CPU)


@pytest.fixture
def lib(library: Callable[..., Library]) -> Library:
    made = library("gk", "DEF")
    made.define("f(Tensor x, int n=1) -> str")
    made.impl("f", lambda x, n: f"first {n}", "CPU")
    return made


@pytest.mark.parametrize("key", ["CPU", DispatchKey.CPU])
@pytest.mark.parametrize("by_name", [True, False])
def test_the_kernel_at_a_key_can_be_called(
    by_name: bool, key: Any, lib: Library, tensor: Tensors
) -> None:
    kernel = get_kernel("gk::f" if by_name else ops.gk.f.default, key)
    assert (kernel.call_boxed(CPU, tensor()), kernel.call_boxed(CPU, tensor(), n=2)) == (
        "first 1",
        "first 2",
    )
    assert kernel.op_handle is ops.gk.f.default
    assert repr(kernel).startswith("SafeKernelFunction(debug='registered at ")


def test_a_handle_outlives_an_override(lib: Library, tensor: Tensors) -> None:
    kernel = get_kernel("gk::f", "CPU")
    lib.impl("f", lambda x, n: "second", "CPU")
    assert (kernel.call_boxed(CPU, tensor()), ops.gk.f(tensor())) == ("first 1", "second")


def test_an_override_can_call_what_it_covers(lib: Library, tensor: Tensors) -> None:
    below = get_kernel("gk::f", "CPU")
    lib.impl(
        "f", lambda keys, x, n: "over " + below.call_boxed(keys, x, n), "CPU", with_keyset=True
    )
    assert ops.gk.f(tensor(), 3) == "over first 3"


def test_a_composite_is_found_at_a_backend(lib: Library, tensor: Tensors) -> None:
    lib.define("c(Tensor x) -> int")
    lib.impl("c", lambda x: 3, "CompositeImplicitAutograd")
    assert get_kernel("gk::c", "CUDA").call_boxed(CPU, tensor()) == 3


@pytest.mark.parametrize(
    ("op", "key", "error", "words"),
    [
        ("gk::f", "Foo", ValueError, "Invalid dispatch key: Foo"),
        ("gk::g", "CPU", RuntimeError, "operator gk::g does not exist. Did you mean 'gk::f'"),
        ("gk::f", "CUDA", RuntimeError, "no kernel for CUDA for gk::f. It has kernels at: CPU"),
        ("gk::f", "Autograd", RuntimeError, "Alias keys do not have runtime kernel registrations"),
        (3, "CPU", ValueError, r"get_kernel\(3\): got unexpected type for op"),
    ],
)
def test_what_is_not_there_is_an_error(
    op: Any, key: str, error: type[Exception], words: str, lib: Library
) -> None:
    with pytest.raises(error, match=words):
        get_kernel(op, key)


def test_there_is_a_context_only_while_a_fake_runs(tensor: Tensors) -> None:
    seen: list[Any] = []
    op = custom_op("gk2::f", lambda x: 1, mutates_args=(), schema="(Tensor x) -> int")
    op.register_fake(lambda x: [seen.append(get_ctx()), 2][1])
    try:
        assert op(tensor(device="meta")) == 2
        assert (seen[0] is None, get_ctx()) == (False, None)
    finally:
        op._lib._destroy()


def test_sizes_that_depend_on_data_cannot_be_had_for_meta_tensors(tensor: Tensors) -> None:
    op = custom_op("gk2::f", lambda x: 1, mutates_args=(), schema="(Tensor x) -> int")
    op.register_fake(lambda x: get_ctx().new_dynamic_size())  # type: ignore[union-attr]
    try:
        with pytest.raises(
            RuntimeError, match=f"(?s)gk2::f .{__file__}.*meta Tensors .as opposed to FakeTensors"
        ):
            op(tensor(device="meta"))
        assert get_ctx() is None
    finally:
        op._lib._destroy()
