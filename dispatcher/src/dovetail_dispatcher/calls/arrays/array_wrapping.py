"""Tensors around arrays, off the common path: lists of results, scalars that move to a backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dovetail_kernel import (
    Backend,
    TensorBase,
    VersionCounter,
    dtype,
    dtype_of_signature,
    share_storage,
)
from dovetail_kernel.signature import INFERENCE, NORMAL, ZERO_DIM
from dovetail_kernel.tensor import bare_tensor_maker

if TYPE_CHECKING:
    from dovetail_kernel.typing import ShapedArray


def array_wrapper(backend: Backend, base: int) -> Callable[[Any, TensorBase | None], TensorBase]:
    """Return the function that makes a tensor of an array, sharing the memory of another tensor if
    one is given.
    """
    arrays = backend.arrays
    array_type = arrays.array_types[0]
    dtype_bits = arrays.dtype_bits
    make = bare_tensor_maker()

    def wrap(array: Any, shared: TensorBase | None) -> TensorBase:
        if array.__class__ is not array_type:
            array = arrays.asarray(array)
        tensor = make()
        tensor.array = array
        tensor._signature = base | dtype_bits[array.dtype] | (0 if array.ndim else ZERO_DIM)
        tensor._grad_fn = None
        tensor.output_nr = 0
        if shared is None:
            tensor._storage = tensor._counter = None
        else:
            storage, counter = shared._storage, shared._counter
            tensor._storage = share_storage(shared) if storage is None else storage
            if counter is None:
                counter = shared._counter = VersionCounter()
            tensor._counter = counter
        tensor._meta = None
        return tensor

    return wrap


def dtype_of(backend: Backend) -> Callable[[Any], dtype]:
    """Return the function that tells the dtype of one of the arrays of `backend`."""
    dtype_bits = backend.arrays.dtype_bits

    def find(array: ShapedArray) -> dtype:
        return dtype_of_signature(dtype_bits[array.dtype])

    return find


def on_backend(backend: Backend, value: object) -> Any:
    """Return a tensor argument on `backend`: itself, or a copy of a 0-dim cpu tensor. Raises
    RuntimeError for any other tensor of another backend.
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
