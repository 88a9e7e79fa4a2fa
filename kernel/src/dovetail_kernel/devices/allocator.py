"""Memory that a backend hands out: an address with what frees it, who allocates it, and how much of
it there is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from threading import RLock
from typing import Any, Final, NamedTuple

from ..errors import OutOfMemoryError
from ..fork_locks import held_over_fork

_lock: Final = held_over_fork(RLock(), level=0)
"""Guards the counts of all allocators."""


class DataPtr:
    """The address of allocated memory, and its deleter.

    Parameters
    ----------
    address
        Address of the first byte; 0 without memory.
    nbytes
        Number of bytes.
    context
        Owner of the memory, which is passed to the deleter.
    deleter
        Called once, when this object is garbage-collected. Default: releasing `context` is enough.
    is_shared
        Whether the memory is shared with other processes.
    """

    __slots__ = ("__weakref__", "_address", "_context", "_deleter", "is_shared", "nbytes")

    def __init__(
        self,
        address: int,
        nbytes: int,
        context: object = None,
        deleter: Callable[..., object] | None = None,
        *,
        is_shared: bool = False,
    ) -> None:
        self._address = address
        self._context = context
        self._deleter = deleter
        self.nbytes = nbytes
        self.is_shared = is_shared

    def get(self) -> int:
        """Return the address of the first byte."""
        return self._address

    def get_context(self) -> Any:
        """Return the owner of the memory."""
        return self._context

    def get_deleter(self) -> Callable[[Any], object] | None:
        """Return the deleter, or None."""
        return self._deleter

    def __del__(self) -> None:
        if self._deleter is not None:
            self._deleter(self._context)

    def __repr__(self) -> str:
        return f"<DataPtr {self._address:#x} of {self.nbytes} bytes>"


def check_size(nbytes: int) -> None:
    """Raise RuntimeError for a negative number of bytes."""
    if nbytes < 0:
        raise RuntimeError(
            f"alloc() seems to have been called with negative number: {nbytes}. Give the number of "
            "bytes, 0 or more."
        )


class MemoryStatistics(NamedTuple):
    """Statistics of an allocator on one device.

    Attributes
    ----------
    allocated_bytes
        Bytes in use now.
    reserved_bytes
        Bytes currently reserved from the system: used and cached memory.
    peak_allocated_bytes
        Peak of the used bytes since the start, or since `Allocator.reset_peak`; None if unknown.
    allocations
        Number of current allocations; None if unknown.
    total_allocations
        Total number of allocations; None if unknown.
    """

    allocated_bytes: int
    reserved_bytes: int
    peak_allocated_bytes: int | None = None
    allocations: int | None = None
    total_allocations: int | None = None


class Allocator:
    """Allocates memory of a device type, and counts it.

    A backend supplies a subclass with `acquire`, as the attribute ``allocator`` of its array side.
    An allocator with its own statistics overrides `statistics`.
    """

    def __init__(self) -> None:
        self._counts: dict[int | None, _Counts] = {}
        self._freed: deque[tuple[int | None, int]] = deque()

    def acquire(self, nbytes: int, device_index: int | None) -> tuple[int, Any]:
        """Return the address of `nbytes` bytes, and an object that owns them.

        Parameters
        ----------
        nbytes
            0 or more.
        device_index
            Index of the device; None if devices have no index.
        """
        raise NotImplementedError

    def release(self, context: object) -> None:
        """Free the memory of `acquire`. Default: do nothing: the owner object frees it."""

    def allocate(self, nbytes: int, device_index: int | None = None) -> DataPtr:
        """Return new uninitialized memory.

        Raises
        ------
        OutOfMemoryError
            If there is not enough memory.
        RuntimeError
            For a negative number.
        """
        check_size(nbytes)
        try:
            address, context = self.acquire(nbytes, device_index)
        except (MemoryError, OverflowError, ValueError) as error:
            raise OutOfMemoryError(
                f"{type(self).__name__}: can't allocate memory: you tried to allocate {nbytes} "
                "bytes. Free what is not needed, or ask for less."
            ) from error
        self._count(device_index, nbytes)
        return DataPtr(address, nbytes, context, partial(self._released, device_index, nbytes))

    def _released(self, device_index: int | None, nbytes: int, context: object) -> None:
        # Runs wherever the last reference goes, also in a collection while the lock is held.
        self.release(context)
        self._freed.append((device_index, nbytes))

    def _settled(self, device_index: int | None) -> _Counts:
        """Return the counts of a device, with all that was freed taken off."""
        while self._freed:
            index, nbytes = self._freed.popleft()
            self._counts[index].allocated -= nbytes
            self._counts[index].alive -= 1
        return self._counts.setdefault(device_index, _Counts())

    def _count(self, device_index: int | None, nbytes: int) -> None:
        with _lock:
            counts = self._settled(device_index)
            counts.allocated += nbytes
            counts.peak = max(counts.peak, counts.allocated)
            counts.alive += 1
            counts.total += 1

    def statistics(self, device_index: int | None = None) -> MemoryStatistics:
        """Return the memory statistics of a device."""
        with _lock:
            counts = self._settled(device_index)
            return MemoryStatistics(
                counts.allocated, counts.allocated, counts.peak, counts.alive, counts.total
            )

    def reset_peak(self, device_index: int | None = None) -> None:
        """Reset the peak of a device to the current use."""
        with _lock:
            counts = self._settled(device_index)
            counts.peak = counts.allocated

    def empty_cache(self) -> None:
        """Release reserved, unused memory to the system. Default: do nothing."""


class _Counts:
    """The counts of one device, in bytes and allocations."""

    __slots__ = ("alive", "allocated", "peak", "total")

    def __init__(self) -> None:
        self.alive = self.allocated = self.peak = self.total = 0
