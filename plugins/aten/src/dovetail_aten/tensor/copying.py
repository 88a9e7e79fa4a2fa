"""Copies and pickles of tensors: what shared memory before shares it afterwards."""

from __future__ import annotations

import copyreg
import warnings
from collections.abc import Callable
from functools import wraps
from math import prod
from typing import Any, ParamSpec, TypeVar

from dovetail_kernel import (
    Device,
    Storage,
    TensorBase,
    dtype,
    set_state,
    share_storage,
    state,
    uint8,
    wrap,
)
from dovetail_kernel.types.signature import NO_GRAD

from .._generated import functions as aten
from ..backend.devices import as_device, backend_for, ready_backend

__all__ = ["deepcopy_tensor", "rebuild_storage", "rebuild_tensor", "reduce_tensor"]


P = ParamSpec("P")
T = TypeVar("T")


def _unseen(function: Callable[P, T]) -> Callable[P, T]:
    """Return `function` so that nothing sees the calls it makes: no mode, not autograd, not
    inference mode.
    """

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        before = state()
        try:
            set_state(NO_GRAD)
            return function(*args, **kwargs)
        finally:
            set_state(before)

    return called


def reduce_tensor(tensor: TensorBase) -> tuple[Any, ...]:
    """Return how to make `tensor` again as a leaf, for pickle and `copy.copy`.

    Its storage is an object of the pickle: other tensors that show the same memory will do so
    again.
    """
    for hook in (tensor._backward_hooks or {}).values():
        if not getattr(hook, "__torch_unserializable__", False):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, "
                "you can decorate the "
                "function with @dovetail.utils.hooks.unserializable_hook to suppress this warning",
                UserWarning,
                stacklevel=3,
            )
    return (
        rebuild_tensor,
        (type(tensor), *_place(tensor), tensor.requires_grad),
        vars(tensor) or None,
    )


def deepcopy_tensor(tensor: TensorBase, memo: dict[int, Any]) -> Any:
    """Return a copy of a leaf with its gradient and attributes, but without hooks; see
    `copy.deepcopy`.

    Raises
    ------
    RuntimeError
        If an operator made the tensor.
    """
    found = memo.get(id(tensor))
    if found is not None:
        return found
    if not tensor.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment. "
            "If an attribute of a module is one that an operator made, compute it in forward(); "
            "else copy x.detach()."
        )
    from copy import deepcopy

    place = _place(tensor)
    storage = place[0]
    copied = memo.get(id(storage))
    if copied is None:
        copied = memo[id(storage)] = _copy_of(storage)
    made = rebuild_tensor(type(tensor), copied, *place[1:], tensor.requires_grad)
    memo[id(tensor)] = made
    if tensor.grad is not None:
        made.grad = deepcopy(tensor.grad, memo)
    made.__dict__.update(deepcopy(tensor.__dict__, memo))
    return made


Place = tuple[Storage, dtype, tuple[int, ...], tuple[int, ...], int]


def _place(tensor: TensorBase) -> Place:
    """Return the storage of `tensor`, its dtype, shape and strides, and where it begins, in
    elements.

    Foreign memory may have gaps between its elements, and then the storage's bytes do not reach as
    far as the tensor. Such a tensor gets a storage of its own.
    """
    storage = share_storage(tensor)
    kind, shape, strides = tensor.dtype, tuple(tensor.array.shape), tensor.stride()
    start = tensor.data_ptr() - storage.data_ptr()
    reach = (
        sum([(size - 1) * step for size, step in zip(shape, strides, strict=True)])
        if prod(shape)
        else -1
    )
    if start % kind.itemsize or start < 0 or start + (reach + 1) * kind.itemsize > storage.nbytes():
        copied = _clone(tensor)
        return share_storage(copied), kind, shape, copied.stride(), 0
    return storage, kind, shape, strides, start // kind.itemsize


def _flat(storage: Storage) -> Any:
    """Return the elements of a storage in the order in which they lie, as a tensor of the dtype
    they were made with.
    """
    whole: Any = wrap(storage.array, storage._backend)
    return aten.as_strided(whole, (storage.nbytes() // whole.dtype.itemsize,), (1,), 0)


@_unseen
def _clone(tensor: TensorBase) -> Any:
    whole: Any = wrap(tensor.array, tensor._backend)
    return aten.clone(whole)


@_unseen
def _copy_of(storage: Storage) -> Storage:
    return share_storage(aten.clone(_flat(storage)))


@_unseen
def _reduce_storage(storage: Storage) -> tuple[Any, ...]:
    flat = _flat(storage)
    host = flat.numel() if flat.is_meta else storage._backend.arrays.to_host(flat.array)
    return rebuild_storage, (storage.device, flat.dtype, host)


@_unseen
def rebuild_storage(device: Device, dtype: dtype, host: Any) -> Storage:
    if isinstance(host, int):
        arrays = backend_for(device).arrays
        return share_storage(
            wrap(arrays.empty((host,), arrays.native_dtypes[dtype]), backend_for(device))
        )
    owned = host if host.flags.writeable and host.base is None else host.copy()
    return share_storage(wrap(owned, ready_backend("cpu")).to(as_device(device)))  # type: ignore[attr-defined]


def rebuild_tensor(
    cls: type[TensorBase],
    storage: Storage,
    dtype: dtype,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    offset: int,
    requires_grad: bool,
) -> TensorBase:
    """Return a new leaf of class `cls` that shows a part of `storage`."""
    view = _part(storage, dtype, size, stride, offset)
    made = wrap(view.array, storage._backend, cls)
    made._storage = storage
    if requires_grad:
        made.requires_grad = True
    return made


@_unseen
def _part(
    storage: Storage, dtype: dtype, size: tuple[int, ...], stride: tuple[int, ...], offset: int
) -> Any:
    whole: Any = wrap(storage.array, storage._backend)
    if whole.dtype is not dtype:
        whole = whole.view(uint8)
        whole = whole[: storage.nbytes() // dtype.itemsize * dtype.itemsize].view(dtype)
    return aten.as_strided(whole, size, stride, offset)


copyreg.pickle(Storage, _reduce_storage)
