"""`CpuMemory`: the memory that NumPy arrays lie in: whose it is, and views that strides give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dovetail_aten.backend import NamespaceArrays
from dovetail_aten.kernel_support import StrideRule, shares_places
from dovetail_kernel import DatalessArray, DataPtr
from dovetail_kernel.typing import NativeDtype

from .allocator import ALLOCATOR, SHARED_ALLOCATOR, AllocatedMemory

Array = np.ndarray[Any, Any]


class _Memory:
    """A place in memory that NumPy can read; keeps the array alive that owns it."""

    def __init__(self, base: Array, interface: Mapping[str, object]) -> None:
        self.base = base
        self.__array_interface__ = interface


def _view_of_memory(
    memory: Array,
    first: int,
    size: Sequence[int],
    steps: Sequence[int],
    dtype: Any,
    is_writable: bool,
) -> Array:
    """Return a view from the address `first` on, with `steps` in bytes; it refuses writes if its
    elements share a place.
    """
    interface = {
        "data": (first, shares_places(size, steps) or not is_writable),
        "shape": tuple(size),
        "strides": tuple(steps),
        "typestr": f"|V{dtype.itemsize}",
        "version": 3,
    }
    return np.asarray(_Memory(memory, interface)).view(dtype)


class CpuMemory(NamespaceArrays):
    """The part of `CpuArrays` that knows of memory."""

    allocator = ALLOCATOR
    shared_allocator = SHARED_ALLOCATOR

    def data_ptr(self, array: Array) -> int:
        """Return the address of the first element."""
        address: int = array.__array_interface__["data"][0]
        return address

    def byte_bounds(self, array: Any) -> tuple[int, int]:
        """Return the address of the lowest byte, and the one after the highest."""
        if not array.flags.c_contiguous:
            return super().byte_bounds(array)
        first = self.data_ptr(array)
        return first, first + array.nbytes

    def strides(self, array: np.ndarray) -> tuple[int, ...]:
        """Return the strides in elements; those of C order where NumPy has none, since there are no
        elements.
        """
        if not array.size:
            return super().strides(array)
        itemsize = array.itemsize
        return tuple([stride // itemsize for stride in array.strides])

    def with_strides(self, view: Any, rule: StrideRule, array: Any) -> Any:
        """Return `view`, of `array`, with PyTorch's strides for dimensions of size 1."""
        strides = self.ruled_strides(view, rule, array)
        return view if strides is None else np.lib.stride_tricks.as_strided(view, strides=strides)

    def memory_bounds(self, array: Any) -> tuple[int, int]:
        """Return the address where the memory of `array` begins, and the one behind its end."""
        if array.__class__ is DatalessArray:
            array.refuse()
        return super().memory_bounds(array)

    def storage_of(self, array: Array) -> Array:
        """Return the root of the bases of `array`, also where something between them is no
        array.
        """
        base: Any = array.base
        while base is not None:
            if isinstance(base, np.ndarray):
                array = base
            base = getattr(base, "base", None)
        return array

    def as_view(
        self,
        memory: Array,
        native_dtype: NativeDtype,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int,
    ) -> Array:
        """Return an array that shows a part of `memory`; strides and offset are in bytes. It
        refuses writes if its elements share a place.
        """
        if memory.flags.c_contiguous and 0 not in shape:  # which NumPy takes a view of by itself
            dtype: Any = native_dtype
            view = np.ndarray(shape, dtype, memory, offset, strides)
            if shares_places(shape, strides):
                view.flags.writeable = False
            return view
        first = self.byte_bounds(memory)[0] + offset
        return _view_of_memory(memory, first, shape, strides, native_dtype, memory.flags.writeable)

    def writable_view(self, array: Array) -> Array:
        """Return a view of `array` that can be written unless its elements share a place."""
        first = self.data_ptr(array)
        return _view_of_memory(array, first, array.shape, array.strides, array.dtype, True)

    def bytes_at(self, pointer: DataPtr) -> Array:
        return np.asarray(AllocatedMemory(pointer))

    def pointer_of(self, memory: Any) -> DataPtr | None:
        """Return the pointer that `memory` was made of, if an allocator made it."""
        return memory.base.pointer if isinstance(memory.base, AllocatedMemory) else None

    def owns_memory(self, memory: Array) -> bool:
        """Return whether `memory` is NumPy's own or the allocator's: else it is another
        library's.
        """
        return bool(memory.flags.owndata) or isinstance(memory.base, AllocatedMemory)
