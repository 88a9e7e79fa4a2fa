"""Memory of a backend: whether it can be written, and new memory as an array of bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..types.dtype import uint8
from .allocator import check_size
from .array_backend import ArrayBackend

if TYPE_CHECKING:
    from ..typing import ShapedArray


def is_writable(array: ShapedArray) -> bool:
    """Return whether an array can be written; not all array libraries say so."""
    return bool(getattr(getattr(array, "flags", None), "writeable", True))


def new_memory(arrays: ArrayBackend, nbytes: int, device_index: int | None) -> Any:
    """Return `nbytes` bytes as a line of uint8: of the backend's allocator, else a new array.
    Raises RuntimeError if there is not enough memory, or for a negative number.
    """
    if arrays.allocator is not None:
        return arrays.bytes_at(arrays.allocator.allocate(nbytes, device_index))
    check_size(nbytes)
    return arrays.empty((nbytes,), arrays.native_dtypes[uint8], device_index)
