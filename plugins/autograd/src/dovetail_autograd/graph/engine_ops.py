"""Engine ops: the operators that autograd itself calls, by name through the dispatcher, or on the
arrays where nothing could see the call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from dovetail_kernel import (
    Backend,
    TensorBase,
    backend_of_signature,
    contiguous_format,
    set_state,
    share_version,
    state,
    wrap,
)
from dovetail_kernel import dtype as Dtype
from dovetail_kernel.keys import NOT_PLAIN, PYTHON_DISPATCH
from dovetail_kernel.signature import GRAD, NO_GRAD, WRAPPED_BIT
from dovetail_kernel.tensor import detach_version
from dovetail_kernel.typing import NativeDtype


@cache
def operator(name: str, overload: str) -> Callable[..., TensorBase]:
    """Return ``ops.aten.<name>.<overload>``, which returns one tensor, looked up once."""
    from dovetail_dispatcher import ops

    found: Callable[..., TensorBase] = getattr(getattr(ops.aten, name), overload)
    return found


def list_operator(name: str, overload: str) -> Callable[..., Sequence[TensorBase]]:
    """Return an operator that returns several tensors."""
    return operator(name, overload)  # type: ignore[return-value]


def needs_dispatch(*tensors: TensorBase) -> bool:
    """Return whether a call on `tensors` has to be dispatched: it is recorded, overridden, or seen
    by a mode.
    """
    current = state()
    if current & ~NO_GRAD:
        return True
    flags = NOT_PLAIN | WRAPPED_BIT if current & NO_GRAD else NOT_PLAIN | WRAPPED_BIT | GRAD
    backend = None
    for tensor in tensors:
        signature = tensor._signature
        if signature & flags:
            return True
        own = backend_of_signature(signature)
        if backend is None:
            backend = own
        elif own is not backend:
            return True
    return False


def add(left: TensorBase, right: TensorBase) -> TensorBase:
    """Return the sum."""
    if needs_dispatch(left, right):
        return operator("add", "Tensor")(left, right)
    return wrap(left.array + right.array, left._backend)


def add_(tensor: TensorBase, other: TensorBase) -> None:
    """Add `other` to `tensor` in place, which is not recorded."""
    before = state()
    try:
        set_state(before | NO_GRAD)
        operator("add_", "Tensor")(tensor, other)
    finally:
        set_state(before)


def sum_to_size(tensor: TensorBase, shape: tuple[int, ...]) -> TensorBase:
    """Return `tensor` summed over the dimensions along which `shape` was broadcast."""
    if not needs_dispatch(tensor):
        return wrap(sum_array_to_shape(tensor.array, shape), tensor._backend)
    given = tensor.array.shape
    extra = len(given) - len(shape)
    dims = [
        dim
        for dim in range(len(given))
        if dim < extra or (shape[dim - extra] == 1 and given[dim] != 1)
    ]
    if dims:
        tensor = operator("sum", "dim_IntList")(tensor, dims, True)
    if tuple(tensor.array.shape) != tuple(shape):
        tensor = operator("view", "default")(tensor, list(shape))
    return tensor


def sum_array_to_shape(array: Any, shape: tuple[int, ...]) -> Any:
    """Return `array` summed over the dimensions along which `shape` was broadcast."""
    given = array.shape
    extra = len(given) - len(shape)
    if given[extra:] == shape:
        # With dimensions kept, for NumPy makes a number, not an array, of a sum of all.
        return array.sum(axis=tuple(range(extra)), keepdims=True, dtype=array.dtype).reshape(shape)
    axes = tuple(
        [
            dim
            for dim in range(len(given))
            if dim < extra or (shape[dim - extra] == 1 and given[dim] != 1)
        ]
    )
    return array.sum(axis=axes, keepdims=True, dtype=array.dtype).reshape(shape)


def cast(tensor: TensorBase, dtype: Dtype) -> TensorBase:
    """Return `tensor` with another dtype."""
    if needs_dispatch(tensor):
        return operator("to", "dtype")(tensor, dtype)
    backend = tensor._backend
    return wrap(backend.arrays.cast(tensor.array, backend.arrays.native_dtypes[dtype]), backend)


def real(tensor: TensorBase) -> TensorBase:
    """Return the real part."""
    if needs_dispatch(tensor):
        return operator("real", "default")(tensor)
    return wrap(tensor.array.real, tensor._backend)


def move(tensor: TensorBase, device: object) -> TensorBase:
    """Return `tensor` on another device."""
    return operator("to", "device")(tensor, device, tensor.dtype)


def clone(tensor: TensorBase) -> TensorBase:
    """Return a copy."""
    if needs_dispatch(tensor):
        return operator("clone", "default")(tensor)
    return wrap(tensor.array.copy(), tensor._backend)


def copy_in_layout(tensor: TensorBase, model: TensorBase, is_dense: bool) -> TensorBase:
    """Return a copy of `tensor`, recorded as one, whose memory is laid out like that of `model`, or
    in the usual order where that is not dense.
    """
    if model._signature & (WRAPPED_BIT | PYTHON_DISPATCH):
        new: TensorBase = operator("empty_like", "default")(detach(model))
    elif is_dense:
        shape = list(model.array.shape)
        new = operator("new_empty_strided", "default")(tensor, shape, list(model.stride()))
    else:
        return operator("clone", "default")(tensor, memory_format=contiguous_format)
    copied = operator("copy_", "default")(new, tensor)
    return copied


def twin(tensor: TensorBase, cls: type[TensorBase] | None = None) -> TensorBase:
    """Return a new leaf of class `cls`, by default a plain one, with the data of `tensor` and a
    version of its own.

    A tensor with ``__torch_dispatch__`` keeps its class, which is asked for it: what it wraps only
    the class knows.
    """
    if tensor._signature & PYTHON_DISPATCH:
        made = detach(tensor)
        made._counter = detach_version(tensor._counter)
        return made
    made = wrap(tensor.array, tensor._backend, cls)
    if made._counter is not None:
        made._counter = detach_version(tensor._counter)
    return made


def detach(tensor: TensorBase) -> TensorBase:
    """Return a leaf with the same data and version."""
    if needs_dispatch(tensor):
        return operator("detach", "default")(tensor)
    twin = wrap(tensor.array, tensor._backend)
    twin._counter = share_version(tensor)
    twin._storage = tensor.untyped_storage()
    return twin


def ones_like(tensor: TensorBase) -> TensorBase:
    """Return ones of the shape, dtype, device and class of `tensor`."""
    return operator("ones_like", "default")(tensor)


def filled(
    shape: tuple[int, ...], native_dtype: NativeDtype, backend: Backend, value: int
) -> TensorBase:
    """Return a new tensor full of `value`; for the backend of wrapped tensors, a plain one on the
    default device.
    """
    if not backend.is_device:
        return operator("full", "default")(list(shape), value, dtype=native_dtype)
    return wrap(backend.arrays.full(shape, value, native_dtype), backend)


def has_memory(tensor: TensorBase) -> bool:
    """Return whether the arrays of a tensor, or of what it wraps, can be written: then they lie in
    memory that strides tell places of.
    """
    while tensor._signature & WRAPPED_BIT:
        tensor = tensor.array.physical
    return backend_of_signature(tensor._signature).arrays.mutable_arrays


def with_strides(tensor: TensorBase, strides: list[int]) -> TensorBase:
    """Return a copy of `tensor` with these strides, where there are any, in memory of its own, with
    zeros in the gaps between the elements.
    """
    if not has_memory(tensor):
        return clone(tensor)
    sizes, count = list(tensor.array.shape), tensor.numel()
    extent = extent_of(sizes, strides)
    # One that is wrapped is made of the tensor itself, so that it is wrapped alike.
    if extent != count or tensor._signature & WRAPPED_BIT:
        new = operator("new_zeros" if extent != count else "new_empty", "default")
        made = operator("as_strided", "default")(new(tensor, [extent]), sizes, strides, 0)
    else:
        made = operator("empty_strided", "default")(
            sizes, strides, dtype=tensor.dtype, device=tensor.device
        )
    return operator("copy_", "default")(made, tensor)


def extent_of(sizes: Sequence[int], strides: Sequence[int]) -> int:
    """Return how many elements lie from the first one to the last, those in gaps counted."""
    if 0 in sizes:
        return 0
    return 1 + sum([(size - 1) * stride for size, stride in zip(sizes, strides, strict=True)])


def filled_like(tensor: TensorBase, value: int) -> TensorBase:
    """Return a new tensor full of `value`, of the shape and dtype of `tensor` and where it is."""
    if tensor._signature & (WRAPPED_BIT | PYTHON_DISPATCH):
        return operator("full_like", "default")(tensor, value)
    return filled(tuple(tensor.array.shape), tensor.array.dtype, tensor._backend, value)
