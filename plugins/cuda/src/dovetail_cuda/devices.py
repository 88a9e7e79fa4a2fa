"""CUDA devices: the current device, synchronization, memory. Every function imports CuPy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from dovetail_kernel import MemoryStatistics

__all__ = [
    "bus_address",
    "can_access",
    "current_device",
    "device_name",
    "device_properties",
    "empty_cache",
    "memory_info",
    "memory_limit",
    "memory_statistics",
    "set_device",
    "set_memory_limit",
    "synchronize",
]


def current_device() -> int:
    """Return the index of the device for new arrays."""
    import cupy

    index: int = cupy.cuda.Device().id
    return index


def set_device(index: int) -> None:
    """Make `index` the device for new arrays, in this thread."""
    import cupy

    cupy.cuda.Device(index).use()


def synchronize(index: int | None = None) -> None:
    """Wait until a device, by default the current one, has completed all work."""
    from .waiting import waiting

    with waiting():
        _device(index).synchronize()


def device_name(index: int | None = None) -> str:
    """Return the product name of a device, by default the current one."""
    import cupy

    name: bytes = cupy.cuda.runtime.getDeviceProperties(_device(index).id)["name"]
    return name.decode()


def device_properties(index: int | None = None) -> SimpleNamespace:
    """Return the driver's properties of a device, by default the current one, under PyTorch's names
    and the driver's.
    """
    import cupy

    found = cupy.cuda.runtime.getDeviceProperties(_device(index).id)
    return SimpleNamespace(
        **{
            **found,
            "name": found["name"].decode(),
            "total_memory": found["totalGlobalMem"],
            "multi_processor_count": found["multiProcessorCount"],
            "max_threads_per_multi_processor": found["maxThreadsPerMultiProcessor"],
            "warp_size": found["warpSize"],
            "shared_memory_per_block": found["sharedMemPerBlock"],
            "L2_cache_size": found["l2CacheSize"],
            "regs_per_multiprocessor": found["regsPerBlock"],
        }
    )


def can_access(index: int | None, peer: int | None) -> bool:
    """Return whether a device can access the memory of another device."""
    import cupy

    return bool(cupy.cuda.runtime.deviceCanAccessPeer(_device(index).id, _device(peer).id))


def memory_statistics(index: int | None = None) -> MemoryStatistics:
    """Return the memory statistics of a device, by default the current one: memory of live arrays,
    and memory of the pool.
    """
    from .memory import ALLOCATOR

    return ALLOCATOR.statistics(_device(index).id)


def memory_info(index: int | None = None) -> tuple[int, int]:
    """Return the free and total bytes of a device, by default the current one."""
    import cupy

    with _device(index):
        free, total = cupy.cuda.runtime.memGetInfo()
    return int(free), int(total)


def set_memory_limit(fraction: float, index: int | None = None) -> None:
    """Limit the pool to a fraction of the memory of a device, by default the current one."""
    import cupy

    with _device(index):
        # The pool takes a size of 0 for no limit.
        total = cupy.cuda.runtime.memGetInfo()[1]
        cupy.get_default_memory_pool().set_limit(size=max(int(total * fraction), 1))


def memory_limit(index: int | None = None) -> float:
    """Return the fraction of the memory of a device, by default the current one, that the pool may
    use; 1.0 without a limit.
    """
    import cupy

    with _device(index):
        limit = cupy.get_default_memory_pool().get_limit()
        return limit / cupy.cuda.runtime.memGetInfo()[1] if limit else 1.0


def bus_address(index: int | None = None) -> str:
    """Return the PCI bus address of a device, by default the current one."""
    address: str = _device(index).pci_bus_id
    return address


def empty_cache() -> None:
    """Return unused memory to the driver."""
    from .memory import ALLOCATOR

    ALLOCATOR.empty_cache()


def _device(index: int | None) -> Any:
    import cupy

    return cupy.cuda.Device() if index is None else cupy.cuda.Device(index)
