"""Tensors around arrays, off the common path: lists of results, scalars that move to a backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail_kernel import (
    Backend,
    TensorBase,
    VersionCounter,
    dtype,
    dtype_of_signature,
    share_storage,
    tensor_class,
)
from dovetail_kernel.tensor.new_tensors import new_tensor
from dovetail_kernel.types.signature import INFERENCE, NORMAL, ZERO_DIM


def array_wrapper(backend: Backend, base: int) -> Callable[[Any, TensorBase | None], TensorBase]:
    """Return the function that makes a tensor of an array, sharing the memory of another tensor if
    one is given.
    """
    arrays = backend.arrays
    array_type = arrays.array_types[0]
    cls = tensor_class()

    def wrap(array: Any, shared: TensorBase | None) -> TensorBase:
        if array.__class__ is not array_type:
            array = arrays.asarray(array)
        tensor = new_tensor(
            array, base | arrays.dtype_bits[array.dtype] | (0 if array.ndim else ZERO_DIM), cls
        )
        if shared is not None:
            tensor._storage = share_storage(shared)
            if shared._counter is None:
                shared._counter = VersionCounter()
            tensor._counter = shared._counter
        return tensor

    return wrap


def dtype_of(backend: Backend) -> Callable[[Any], dtype]:
    """Return the function that tells the dtype of one of the arrays of `backend`."""
    dtype_bits = backend.arrays.dtype_bits

    def find(array: Any) -> dtype:
        return dtype_of_signature(dtype_bits[array.dtype])

    return find


def on_backend(backend: Backend, value: Any) -> Any:
    """Return a tensor argument on `backend`: itself, or a copy of a 0-dim cpu tensor.

    Raises
    ------
    RuntimeError
        For any other tensor of another backend.
    """
    if isinstance(value, list | tuple):
        return [on_backend(backend, item) for item in value]
    if not isinstance(value, TensorBase) or value._backend is backend:
        return value
    if value._backend.name == "cpu" and not value.array.shape:
        moved = value.item() if backend.name != "meta" else 0  # type: ignore[attr-defined]
        arrays = backend.arrays
        array = arrays.scalar(moved, arrays.native_dtypes[value.dtype])
        return array_wrapper(backend, backend.bit | value._signature & (NORMAL | INFERENCE))(
            array, None
        )
    raise RuntimeError(
        f"Expected all tensors to be on the same device: Tensor on device {value.device} is not "
        "on the expected device "
        f"{backend.name}! Move it: x.to({backend.name!r})."
    )
