"""Operators that give a tensor other memory, or another part of its own: ``set_``, ``resize_``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_aten.kernel_support.geometry.memory_layout import (
    contiguous_strides,
    is_contiguous,
    required_order,
    strides_in_order,
    suggested_format,
)
from dovetail_aten.kernel_support.geometry.view_bounds import check_strides, extent
from dovetail_aten.tensor.storage_classes.typed_storage import TypedStorage
from dovetail_dispatcher.calls import check_inference_write
from dovetail_kernel import (
    AutoDispatchBelowAutograd,
    DeviceLike,
    MemoryFormat,
    Storage,
    TensorBase,
    bump_version,
    new_storage,
    preserve_format,
    replace_array,
    resize_storage,
    restoring,
    share_storage,
    wrap,
)
from dovetail_kernel.signature import NORMAL
from dovetail_kernel.types import UNINITIALIZED, filler

from ....typing import Array, Tensor


def resize(self: Tensor, size: Sequence[int], *, memory_format: MemoryFormat | None = None) -> Any:
    """Give `self` another size, over its storage, which grows if it must; elements stay in the
    order in which they lie, and new ones are not set, or filled if the program asked for that.
    """
    _check(self, "resize_")
    _refuse_gradients(self)
    sizes = tuple(size)
    if sizes == tuple(self.array.shape) and memory_format is None:
        return self
    strides = _strides(sizes, memory_format)
    storage = share_storage(self)
    is_filled = UNINITIALIZED.is_filled and not self.is_meta
    before = storage.nbytes() if is_filled else 0
    _show(self, storage, sizes, strides, self.storage_offset())
    if is_filled:
        _fill_from(self, storage, before)
    bump_version(self)
    return self


def _fill_from(self: TensorBase, storage: Storage, nbytes: int) -> None:
    """Fill the elements of a storage behind its first bytes."""
    arrays, itemsize = self._backend.arrays, self.dtype.itemsize
    first = -(-nbytes // itemsize)
    count = storage.nbytes() // itemsize - first
    if count > 0:
        native = arrays.native_dtypes[self.dtype]
        rest = arrays.as_view(storage.array, native, (count,), (itemsize,), first * itemsize)
        tensor: Any = wrap(rest, self._backend)
        F.fill_(tensor, filler(self.dtype))


@restoring()
def resize_of_variable(
    self: Any, size: Sequence[int], *, memory_format: MemoryFormat | None = None
) -> Any:
    """Raise an error for a tensor that requires grad, whatever the grad mode, and go on below
    Autograd.
    """
    _refuse_gradients(self)
    with AutoDispatchBelowAutograd():
        return F.resize_(self, size, memory_format=memory_format)


def resize_as(
    self: Tensor, the_template: Tensor, *, memory_format: MemoryFormat | None = None
) -> Any:
    """Give `self` the size of another tensor; with ``preserve_format`` also its memory format."""
    if memory_format is preserve_format:
        memory_format = suggested_format(the_template)
    return F.resize_(self, tuple(the_template.shape), memory_format=memory_format)


def set_to_nothing(self: Tensor) -> Any:
    """Let `self` show no element of a storage without bytes."""
    _check(self, "set_")
    storage = new_storage(self._backend, 0, self.device.index)
    return _set(self, storage, (0,), (1,), 0)


def set_to_storage(self: Tensor, source: Array) -> Any:
    """Let `self` show all of a storage, in one dimension."""
    _check(self, "set_")
    storage = _untyped(self, source)
    return _set(self, storage, (storage.nbytes() // self.dtype.itemsize,), (1,), 0)


def set_to_part_of_storage(
    self: Any, source: Array, storage_offset: int, size: Sequence[int], stride: Sequence[int] = ()
) -> Any:
    """Let `self` show a part of a storage, which grows if it must; default strides are
    contiguous.
    """
    _check(self, "set_")
    return _set(self, _untyped(self, source), size, stride, storage_offset)


def set_to_tensor(self: Tensor, source: Tensor) -> Any:
    """Let `self` show what `source` does, in the same way."""
    _check(self, "set_")
    _check_source(self, source)
    place = (tuple(source.array.shape), source.stride(), source.storage_offset())
    return _set(self, share_storage(source), *place)


def set_to_part_of_tensor(
    self: Any, source: Any, storage_offset: int, size: Sequence[int], stride: Sequence[int] = ()
) -> Any:
    """Let `self` show a part of the storage of `source`, which is contiguous; the offset is from
    its first element, and counts elements of `self`, whatever dtype `source` has.
    """
    _check(self, "set_")
    _check_device(self, source.device)
    if not is_contiguous(source):
        raise RuntimeError(
            "passed in tensor to be used as storage must be contiguous. Give its "
            "untyped_storage(), and the offset from the start of that."
        )
    offset = source.storage_offset() + storage_offset
    return _set(self, share_storage(source), size, stride, offset)


def _set(
    self: TensorBase, storage: Storage, size: Sequence[int], stride: Sequence[int], offset: int
) -> TensorBase:
    sizes = tuple(size)
    strides = tuple(stride)
    if not strides and sizes:
        strides = contiguous_strides(sizes)
    _show(self, storage, sizes, strides, offset)
    bump_version(self)
    return self


def _show(
    self: TensorBase,
    storage: Storage,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
) -> None:
    """Let `self` show a part of `storage`; sizes, strides and offset count elements. Raises
    RuntimeError if they describe no tensor, or the storage would have to grow and cannot.
    """
    arrays, itemsize = self._backend.arrays, self.dtype.itemsize
    if offset < 0:
        raise RuntimeError(
            f"Tensor: invalid storage offset {offset}. Give an offset of 0 or more, in elements."
        )
    check_strides(sizes, strides, itemsize)
    reach = extent(sizes, strides)
    needed = (offset + reach) * itemsize if reach else 0
    if needed > storage.nbytes():
        resize_storage(storage, needed, self if self._storage is storage else None)
    array = arrays.as_view(
        storage.array,
        arrays.native_dtypes[self.dtype],
        sizes,
        tuple([step * itemsize for step in strides]),
        offset * itemsize if reach else min(offset * itemsize, storage.nbytes()),
    )
    replace_array(self, array)
    self._storage = storage


def _check(self: TensorBase, name: str) -> None:
    """Raise an error for tensors without memory, or without memory that views can share."""
    backend = self._backend
    if not backend.is_device:
        raise RuntimeError(
            f"{name}: a tensor that a transform (vmap, jvp) wraps has no memory of its own. Use "
            "it outside the transform, or an operator that returns a new tensor."
        )
    if not backend.arrays.mutable_arrays:
        raise NotImplementedError(
            f"{name}: arrays of backend {backend.name} cannot be written, so tensors do not share "
            "their memory. Make a new tensor instead."
        )
    if not self._signature & NORMAL:
        check_inference_write(self)


def _refuse_gradients(self: TensorBase) -> None:
    if self.requires_grad and self._signature & NORMAL:
        raise RuntimeError(
            "cannot resize variables that require grad. Resize x.detach(), or make a new tensor "
            "with an operator that autograd records, such as x[:n] or pad."
        )


def _check_source(self: TensorBase, source: TensorBase) -> None:
    if source.dtype is not self.dtype:
        raise RuntimeError(
            f"Could not set tensor of type {source.dtype.scalar_name} to a tensor of type "
            f"{self.dtype.scalar_name}. Convert it first, or give source.untyped_storage()."
        )
    _check_device(self, source.device)


def _check_device(self: TensorBase, device: DeviceLike | None) -> None:
    if device != self.device:
        raise RuntimeError(
            f'Attempted to set the storage of a tensor on device "{self.device}" to a storage on '
            f'different device "{device}".  This is no longer allowed; the devices must match. '
            "Copy it there first."
        )


def _untyped(self: TensorBase, source: Any) -> Storage:
    """Return the storage that was given, as one of bytes."""
    if isinstance(source, TypedStorage):
        if source.dtype is not self.dtype:
            raise RuntimeError(
                f"Expected a Storage of type {self.dtype.scalar_name} or an UntypedStorage, but "
                f"got type {source.dtype.scalar_name} for argument 1 'storage'. Give "
                "source.untyped() to read its bytes as they are."
            )
        source = source.untyped()
    _check_device(self, source.device)
    storage: Storage = source
    return storage


def _strides(sizes: tuple[int, ...], memory_format: MemoryFormat | None) -> tuple[int, ...]:
    if memory_format is preserve_format:
        raise RuntimeError(
            f"Unsupported memory format {memory_format}: give contiguous_format or channels_last."
        )
    return strides_in_order(sizes, required_order(memory_format, len(sizes)))
