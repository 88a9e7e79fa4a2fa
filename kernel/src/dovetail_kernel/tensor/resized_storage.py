"""Moves storages to memory of another size, and with them every tensor that shows them.

An array cannot be told to lie elsewhere, so that each tensor gets a new one. That nothing else
shows the old memory follows from the counts of its references.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import RLock
from typing import Any, NamedTuple

from ..devices.array_backend import ArrayBackend
from ..devices.memory import is_writable, new_memory
from ..devices.overlap import may_overlap_itself
from ..fork_locks import held_over_fork
from ..types.dtype import uint8
from .dataless import DatalessArray
from .ownership import has_own_storage, holders, tensors_on_storage
from .storage import Storage, share_storage
from .tensor_base import TensorBase

_lock = held_over_fork(RLock(), level=1)


def resize_storage(storage: Storage, nbytes: int, tensor: TensorBase | None = None) -> None:
    """Give `storage` new memory of `nbytes` bytes with what it held, as far as there is room, and
    let all tensors on it show that.

    A tensor that reaches beyond the new end is left without data until the storage is large enough
    again: whatever reads it raises an error.

    Parameters
    ----------
    storage
        Any storage.
    nbytes
        0 or more.
    tensor
        A tensor on it; where it is the only one, no other is looked for.

    Raises
    ------
    RuntimeError
        If anything but tensors shows the memory (an array that was exported, a value saved for
        backward), if it belongs to another library, or if there are not so many bytes.
    """
    arrays = storage._backend.arrays
    device_index = arrays.device_index(storage._array)
    with _lock:
        tensors = _tensors_on(storage, tensor)
        _move(storage, tensors, lambda: new_memory(arrays, nbytes, device_index))


def move_storage(storage: Storage, allocate: Callable[[], object]) -> None:
    """Move `storage` and all tensors on it to the memory that `allocate` returns as a line of
    uint8. Arrays that show the old memory keep it.
    """
    with _lock:
        _move(storage, tensors_on_storage(storage), allocate)


def _move(storage: Storage, tensors: Sequence[TensorBase], allocate: Callable[[], Any]) -> None:
    arrays, old = storage._backend.arrays, storage._array
    places = [_place(each, storage) for each in tensors]
    memory = allocate()
    kept = min(storage.nbytes(), memory.nbytes)
    native = arrays.native_dtypes[uint8]
    if kept:
        source = arrays.as_view(old, native, (kept,), (1,), 0)
        arrays.copy_into(arrays.as_view(memory, native, (kept,), (1,), 0), source)
    shown = [_shown(storage, memory, place) for place in places]
    storage._array = memory
    for each, array in zip(tensors, shown, strict=True):
        each.array = array
        if each._meta is not None:
            each._meta.array_replaced(array)


def make_writable(tensor: TensorBase) -> bool:
    """Let the read-only array of `tensor` be written, and return whether it can be: not where
    elements share memory.

    A part of an expanded array is shown anew in the same memory. Memory of another library stays as
    it is: the storage is moved to a copy, and all tensors on it go along.
    """
    with _lock:
        share_storage(tensor)
        is_alone = has_own_storage(tensor)
        storage = share_storage(tensor)
        if tensor.array.__class__ is DatalessArray:
            return False
        if is_writable(storage._array):
            place = _place(tensor, storage)
            if may_overlap_itself(place.shape, place.strides, place.array.dtype.itemsize):
                return False
            tensor.array = _shown(storage, storage._array, place)
            return is_writable(tensor.array)
        arrays, nbytes = storage._backend.arrays, storage.nbytes()
        device_index = arrays.device_index(storage._array)
        tensors = [tensor] if is_alone else tensors_on_storage(storage)
        _move(storage, tensors, lambda: new_memory(arrays, nbytes, device_index))
        return is_writable(tensor.array)


def is_resizable(storage: Storage) -> bool:
    """Return whether nothing but tensors shows the memory, so that `resize_storage` may move it."""
    with _lock:
        return _holds_all(storage, tensors_on_storage(storage))


def _tensors_on(storage: Storage, tensor: TensorBase | None) -> list[TensorBase]:
    """Return all tensors on `storage`. Raises RuntimeError if anything else shows its memory."""
    if tensor is not None and _holds_all(storage, [tensor]):
        return [tensor]
    tensors = tensors_on_storage(storage)
    if _holds_all(storage, tensors):
        return tensors
    raise RuntimeError(
        f"Trying to resize storage that is not resizable: its {storage.nbytes()} bytes "
        + (
            "are shown by something that is not a tensor, which would not see the new memory: an "
            "array that numpy() or DLPack gave away, a slice of the storage, or a value saved for "
            "backward. Let go of it first, or make a new tensor and copy."
            if _owns(storage)
            else f"belong to {_owner(storage)}. Make a new tensor of the wanted size and copy."
        )
    )


def _owns(storage: Storage) -> bool:
    array, arrays = storage._array, storage._backend.arrays
    if array.__class__ is DatalessArray or not storage._backend.is_device:
        return False
    pointer = arrays.pointer_of(array)
    return arrays.owns_memory(array) and not (pointer is not None and pointer.is_shared)


def _owner(storage: Storage) -> str:
    if storage._array.__class__ is DatalessArray:
        return "the class of a wrapper subclass"
    if not storage._backend.is_device:
        return "a tensor that a transform wraps"
    if storage._backend.arrays.pointer_of(storage._array) is not None:
        return "several processes"
    return "another library"


def _holds_all(storage: Storage, tensors: Sequence[TensorBase]) -> bool:
    """Return whether `storage` and `tensors` hold every reference to what keeps the memory."""
    if not _owns(storage):
        return False
    arrays = storage._backend.arrays
    counts: dict[int, int] = {}
    held: dict[int, Any] = {}
    _note(storage._array, arrays, counts, held)
    for tensor in tensors:
        _note(tensor.array, arrays, counts, held)
    return all([holders(held, key) == count for key, count in counts.items()])


def _note(
    holder: object, arrays: ArrayBackend, counts: dict[int, int], held: dict[int, object]
) -> None:
    """Count one reference to `holder`, and once those that it has to others."""
    key = id(holder)
    counts[key] = counts.get(key, 0) + 1
    if key not in held:
        held[key] = holder
        for each in arrays.owns(holder):
            _note(each, arrays, counts, held)


class _Place(NamedTuple):
    """Which bytes of a storage a tensor shows, and how."""

    array: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


def _place(tensor: TensorBase, storage: Storage) -> _Place:
    array, arrays = tensor.array, storage._backend.arrays
    itemsize = array.dtype.itemsize
    strides = getattr(array, "strides", None)
    if strides is None:
        strides = tuple([step * itemsize for step in arrays.strides(array)])
    if array.__class__ is DatalessArray:
        return _Place(array, array.shape, strides, array.offset * itemsize)
    return _Place(array, array.shape, strides, arrays.data_ptr(array) - storage._bounds()[0])


def _shown(storage: Storage, memory: Any, place: _Place) -> Any:
    """Return the array of a tensor in the new memory; one without data where that is too small."""
    array, shape, strides, offset = place
    itemsize = array.dtype.itemsize
    reach = sum([(size - 1) * step for size, step in zip(shape, strides, strict=True) if step > 0])
    arrays = storage._backend.arrays
    if 0 in shape:
        return arrays.as_view(memory, array.dtype, shape, strides, min(offset, memory.nbytes))
    if offset + reach + itemsize <= memory.nbytes:
        return arrays.as_view(memory, array.dtype, shape, strides, offset)
    if offset % itemsize or any([step % itemsize for step in strides]):
        raise RuntimeError(
            f"a tensor of shape {list(shape)} on the storage lies between the elements of its "
            "dtype, and would reach beyond its end. Let go of it first."
        )
    gone = DatalessArray(
        shape,
        array.dtype,
        [step // itemsize for step in strides],
        offset // itemsize,
        arrays.device_index(memory),
        why=(
            f"A tensor of shape {list(shape)} has no data: its storage was resized to "
            f"{memory.nbytes} bytes, and the elements end at byte {offset + reach + itemsize}. "
            "Resize the storage before you use it: x.untyped_storage().resize_(nbytes)."
        ),
    )
    gone.base = memory  # so that the memory's references tell of this tensor too
    return gone
