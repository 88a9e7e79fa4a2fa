"""The allocator of host memory: aligned to 64 bytes, a line of the cache and the widest vectors.

Memory of storages that are made or resized as such comes from here. What array functions return is
NumPy's own memory: going through here would cost small tensors more than they do.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dovetail_kernel import Allocator, DataPtr

from .shared_pages import SharedPages

ALIGNMENT: Final = 64
"""Every address is a multiple of it."""


class AllocatedMemory:
    """Memory that an allocator handed out, which NumPy can read; keeps the pointer alive."""

    def __init__(self, pointer: DataPtr) -> None:
        self.pointer = pointer
        self.__array_interface__ = {
            "data": (pointer.get(), False),
            "shape": (pointer.nbytes,),
            "typestr": "|u1",
            "version": 3,
        }


class AlignedAllocator(Allocator):
    """Hands out memory of NumPy's at addresses that are multiples of 64."""

    def acquire(self, nbytes: int, device_index: int | None) -> tuple[int, Any]:
        """Return the address of `nbytes` bytes, and the array that has them."""
        array = np.empty(nbytes + ALIGNMENT, np.uint8)
        address: int = array.ctypes.data
        return -(-address // ALIGNMENT) * ALIGNMENT, array


class SharedAllocator(Allocator):
    """Hands out memory that processes share: those forked from this one, and those that it is
    sent to.
    """

    def acquire(self, nbytes: int, device_index: int | None) -> tuple[int, Any]:
        """Return the address of `nbytes` bytes in pages of their own, and the pages."""
        try:
            pages = SharedPages(nbytes)
        except OSError as error:
            raise MemoryError(str(error)) from error
        return _address_of(pages), pages

    def allocate(self, nbytes: int, device_index: int | None = None) -> DataPtr:
        """Return new shared memory. Raises the errors of `Allocator.allocate`."""
        pointer = super().allocate(nbytes, device_index)
        pointer.is_shared = True
        return pointer

    def attach(self, handle: int, nbytes: int) -> DataPtr:
        """Return the shared memory of another process.

        Parameters
        ----------
        handle
            The descriptor of its file, which is the memory's from now on.
        nbytes
            How many bytes.
        """
        pages = SharedPages(nbytes, handle)
        return DataPtr(_address_of(pages), nbytes, pages, is_shared=True)


def _address_of(pages: SharedPages) -> int:
    address: int = np.frombuffer(pages.memory, np.uint8).ctypes.data
    return address


ALLOCATOR: Final = AlignedAllocator()
SHARED_ALLOCATOR: Final = SharedAllocator()
