"""`CudaMemory`: the device memory that CuPy arrays lie in, and the allocator that takes it from
CuPy's pool.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import cupy
import numpy as np

from dovetail_aten.backend import NamespaceArrays
from dovetail_aten.kernel_support import StrideRule, check_size
from dovetail_kernel import Allocator, DataPtr, MemoryStatistics
from dovetail_kernel.typing import NativeDtype

OutOfMemoryError: Final = cupy.cuda.memory.OutOfMemoryError
"""What is raised where a device has no memory left; a MemoryError."""


class PoolAllocator(Allocator):
    """Hands out memory of the allocator that CuPy uses, by default its memory pool."""

    def acquire(self, nbytes: int, device_index: int | None) -> tuple[int, Any]:
        """Return the address of `nbytes` bytes on a device, and CuPy's pointer that keeps them."""
        with cupy.cuda.Device(device_index):
            try:
                pointer = cupy.cuda.alloc(nbytes)
            except cupy.cuda.memory.OutOfMemoryError as error:
                raise MemoryError(str(error)) from error
        return pointer.ptr, pointer

    def statistics(self, device_index: int | None = None) -> MemoryStatistics:
        """Return what all of CuPy's arrays take on a device: it is the pool that counts. It tells
        of no peak and no numbers of allocations.
        """
        pool = cupy.get_default_memory_pool()
        with cupy.cuda.Device(device_index):
            return MemoryStatistics(pool.used_bytes(), pool.total_bytes())

    def empty_cache(self) -> None:
        """Return unused memory to the driver."""
        cupy.get_default_memory_pool().free_all_blocks()


ALLOCATOR: Final = PoolAllocator()


class CudaMemory(NamespaceArrays):
    """The part of `CudaArrays` that knows of memory."""

    allocator = ALLOCATOR

    def data_ptr(self, array: Any) -> int:
        """Return the address of the first element."""
        address: int = array.data.ptr
        return address

    def expand(self, array: Any, shape: Sequence[int]) -> Any:
        """Return a view broadcast to `shape`. Raises RuntimeError for more bytes than an array can
        have, which CuPy does not count.
        """
        return super().expand(array, check_size(shape, array.itemsize))

    def with_strides(
        self, view: cupy.ndarray, rule: StrideRule, array: cupy.ndarray
    ) -> cupy.ndarray:
        """Return `view`, a new one of `array`, with PyTorch's strides for dimensions of size 1."""
        strides = self.ruled_strides(view, rule, array)
        if strides is not None:
            view._set_shape_and_strides(view.shape, strides, True, True)
        return view

    def as_strided(
        self, array: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int
    ) -> Any:
        """Return a view of the memory of `array`, within its bounds."""
        itemsize = array.itemsize
        steps = [step * itemsize for step in stride]
        memory = self.storage_of(array)
        return self.as_view(memory, array.dtype, size, steps, storage_offset * itemsize)

    def as_view(
        self,
        memory: Any,
        native_dtype: NativeDtype,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int,
    ) -> Any:
        """Return an array that shows a part of `memory`; strides and offset are in bytes."""
        start, stop = self.byte_bounds(memory)
        own = memory.itemsize
        line = memory.view()
        # An array made at an address would know no base, and so not where its memory ends.
        line._set_shape_and_strides(((stop - start) // own,), (own,), True, True)
        rest = line.view(np.uint8)[offset:]
        part = rest[: rest.size // native_dtype.itemsize * native_dtype.itemsize]
        part = part.view(native_dtype)
        part._set_shape_and_strides(tuple(shape), tuple(strides), True, True)
        return part

    def bytes_at(self, pointer: DataPtr) -> Any:
        """Return the memory of `pointer` as a 1-dimensional uint8 array, which keeps the pointer
        alive.
        """
        device = pointer.get_context().device_id
        memory = cupy.cuda.UnownedMemory(pointer.get(), pointer.nbytes, pointer, device)
        return cupy.ndarray((pointer.nbytes,), np.uint8, cupy.cuda.MemoryPointer(memory, 0))

    def pointer_of(self, memory: Any) -> DataPtr | None:
        """Return the pointer that `memory` was made of, if the allocator made it."""
        owner = getattr(memory.data.mem, "_owner", None)
        return owner if isinstance(owner, DataPtr) else None

    def owns_memory(self, memory: Any) -> bool:
        """Return whether `memory` is CuPy's own or the allocator's, not another library's."""
        own = isinstance(memory.data.mem, cupy.cuda.Memory | cupy.cuda.memory.PooledMemory)
        return own or self.pointer_of(memory) is not None

    def owns(self, holder: object) -> tuple[Any, ...]:
        """Return what `holder` refers to of the objects that keep its memory: an array refers to a
        pointer and to the array that it is a view of, the pointer to an allocation.
        """
        if isinstance(holder, cupy.ndarray):
            return (holder.data, *super().owns(holder))
        if isinstance(holder, cupy.cuda.MemoryPointer):
            return (holder.mem,)
        return super().owns(holder)
