"""Names that PyTorch's own code, and code copied from it, calls typed storages by: without the
warning of the public ones.
"""

from __future__ import annotations

from typing import Any

from dovetail_kernel import DeviceLike

from ...typing import Array
from .storage_conversions import StorageConversions


class InternalNames(StorageConversions):
    """The part of `TypedStorage` with the names that start with an underscore."""

    __slots__ = ()

    dtype: Any
    _untyped_storage: Any

    @property
    def _dtype(self) -> Any:
        """The dtype of the elements."""
        return self.dtype

    def _nbytes(self) -> int:
        """Return the size in bytes."""
        nbytes: int = self._untyped_storage.nbytes()
        return nbytes

    def _element_size(self) -> int:
        """Return the number of bytes per element."""
        size: int = self.dtype.itemsize
        return size

    def _data_ptr(self) -> int:
        """Return the address of the first element."""
        address: int = self._untyped_storage.data_ptr()
        return address

    def _is_shared(self) -> bool:
        """Return whether the memory is shared with other processes."""
        shared: bool = self._untyped_storage.is_shared()
        return shared

    def _share_memory_(self) -> Any:
        """Move the storage to shared memory; see `UntypedStorage.share_memory_`."""
        self._untyped_storage.share_memory_()
        return self

    def _resize_(self, size: int) -> None:
        """Change the number of elements; see `UntypedStorage.resize_`."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)

    def _getitem(self, index: Array) -> Any:
        """Return the element at an integer."""
        return self[index]  # type: ignore[index]  # of TypedStorage

    def _setitem(self, index: Array, value: object) -> None:
        """Set the element at an integer, or those of a slice."""
        self[index] = value  # type: ignore[index]  # of TypedStorage

    def to(self, *, device: DeviceLike | None, non_blocking: bool = False) -> Any:
        """Return the storage, or a copy of it on another device."""
        return self._moved(self._untyped_storage.to(device=device))

    def _moved(self, storage: Any) -> Any:
        raise NotImplementedError

    def _showing(self, line: Any) -> Any:
        return self._moved(line.untyped_storage())
