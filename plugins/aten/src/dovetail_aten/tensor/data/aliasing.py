"""`asarray`: anything that holds numbers as a tensor, sharing its memory where that is possible."""

from __future__ import annotations

from typing import Any

from dovetail_dispatcher import overridable
from dovetail_dispatcher.schema import is_numpy_scalar
from dovetail_kernel import TensorBase, backend_of_array, get_default_dtype
from dovetail_kernel import dtype as DType

from ...backend.devices import as_device, index_on, ready_backend
from ...typing import Tensor
from .dtype_arguments import as_dtype
from .from_data import from_dlpack, tensor
from .host_arrays import from_host, is_host_array, share_host
from .storage_views import vector_of_storage


@overridable
def asarray(
    obj: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """Return `obj` as a tensor that shares its memory, unless `copy`, `dtype` or `device` require a
    copy.

    Parameters
    ----------
    obj
        A tensor, an array, a DLPack capsule or an object with ``__dlpack__``; an object with the
        buffer protocol, or a storage, whose bytes are read as elements of `dtype`; or as for
        `tensor`: a number or nested sequences of numbers, which are always copied.
    dtype
        Default: the dtype of `obj`, or the default dtype for a buffer.
    device
        Default: the device of `obj`, or the default device for numbers.
    copy
        True: always copy; False: never; None: only if needed.
    requires_grad
        Whether the result requires grad. Default: as for `obj`. If nothing changes, the result is
        the tensor `obj` itself, so that True makes it require grad; False returns a detached
        tensor.

    Raises
    ------
    ValueError
        If `copy` is False and a copy is necessary, or if the size of a buffer is not a multiple of
        the element size.
    TypeError
        If `copy` is not a bool.
    """
    wanted = as_dtype(dtype, "asarray")
    if copy is not None and not isinstance(copy, bool):
        raise TypeError(
            f"asarray(): argument 'copy' must be bool, not {type(copy).__name__}. Give True, False "
            "or None."
        )
    if is_numpy_scalar(obj) and copy is False:
        raise RuntimeError(
            "can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray."
        )
    source = _without_copy(obj, wanted, shares=not copy and wanted is None)
    made: Any
    if source is not None:
        made = _moved(source, wanted, device, copy)
    elif copy is False:
        raise ValueError(
            "can't alias arbitrary sequence into a tensor. Give copy=None, or a NumPy array."
        )
    else:
        made = tensor(obj, dtype=wanted, device=device)
    if requires_grad is None:
        requires_grad = isinstance(obj, TensorBase) and obj.requires_grad
    if not requires_grad and made.requires_grad:
        made = made.detach()
    elif requires_grad and not made.requires_grad:
        made.requires_grad = requires_grad
    result: Tensor = made
    return result


def _without_copy(obj: Any, wanted: DType | None, *, shares: bool) -> Any:
    """Return a tensor over the memory of `obj`; None if it has none. `shares` says whether that is
    the result.
    """
    if isinstance(obj, TensorBase):
        return obj
    if is_numpy_scalar(obj):
        return None
    if is_host_array(obj) or backend_of_array(obj) is not None:
        return share_host(obj) if shares else from_host(obj)
    if type(obj).__name__ == "PyCapsule" or hasattr(obj, "__dlpack__"):
        return from_dlpack(obj)
    try:
        buffer = memoryview(obj)
    except TypeError:
        return vector_of_storage(obj, wanted)
    return _of_buffer(buffer, wanted or get_default_dtype())


def _of_buffer(buffer: memoryview, wanted: DType) -> Any:
    if buffer.nbytes % wanted.itemsize:
        raise ValueError(
            f"buffer length ({buffer.nbytes} bytes) after offset (0 bytes) must be a multiple of "
            f"element size ({wanted.itemsize}). Give the dtype that the bytes are of."
        )
    arrays = ready_backend("cpu").arrays
    return share_host(arrays.asarray(buffer.cast("B")).view(arrays.native_dtypes[wanted]))


def _moved(source: Any, wanted: DType | None, device: Any, copy: bool | None) -> Any:
    """Return `source` with the dtype and on the device that are wanted."""
    place = source.device if device is None else as_device(device)
    index = index_on(source._device_backend.arrays, place)
    is_elsewhere = place.type != source.device.type or (
        index is not None and index != (source.device.index or 0)
    )
    if copy is False and is_elsewhere:
        raise ValueError(
            f"can't alias tensor from device '{source.device}' to '{place}'. Give copy=None."
        )
    needs_dtype = wanted is not None and wanted is not source.dtype
    if copy is False and needs_dtype:
        assert wanted is not None
        raise ValueError(
            f"can't alias tensor with dtype '{source.dtype.scalar_name}' into dtype "
            f"'{wanted.scalar_name}'. Give copy=None."
        )
    if is_elsewhere or needs_dtype:
        return source.to(device=place, dtype=wanted)
    return source.clone() if copy else source
