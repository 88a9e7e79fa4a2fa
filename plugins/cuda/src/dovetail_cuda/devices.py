"""The CUDA devices: which one is in use, waiting for it, and its memory. Every function imports
CuPy.
"""

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
    """Return the index of the device that new arrays are made on."""
    import cupy

    index: int = cupy.cuda.Device().id
    return index


def set_device(index: int) -> None:
    """Make new arrays on the device `index` from now on, in this thread."""
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
    """Return what the driver says of a device, by default the current one, with PyTorch's names
    beside its own.
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
    """Return whether a device reaches the memory of another one."""
    import cupy

    return bool(cupy.cuda.runtime.deviceCanAccessPeer(_device(index).id, _device(peer).id))


def memory_statistics(index: int | None = None) -> MemoryStatistics:
    """Return what live arrays take on a device, by default the current one, and what the pool
    keeps.
    """
    from .memory import ALLOCATOR

    return ALLOCATOR.statistics(_device(index).id)


def memory_info(index: int | None = None) -> tuple[int, int]:
    """Return the bytes that are free on a device, by default the current one, and all there are."""
    import cupy

    with _device(index):
        free, total = cupy.cuda.runtime.memGetInfo()
    return int(free), int(total)


def set_memory_limit(fraction: float, index: int | None = None) -> None:
    """Let the pool take no more than a part of the memory of a device, by default the current
    one.
    """
    import cupy

    with _device(index):
        # The pool takes a size of 0 for no limit.
        total = cupy.cuda.runtime.memGetInfo()[1]
        cupy.get_default_memory_pool().set_limit(size=max(int(total * fraction), 1))


def memory_limit(index: int | None = None) -> float:
    """Return which part of the memory of a device, by default the current one, the pool may take;
    1.0 where there is no limit.
    """
    import cupy

    with _device(index):
        limit = cupy.get_default_memory_pool().get_limit()
        return limit / cupy.cuda.runtime.memGetInfo()[1] if limit else 1.0


def bus_address(index: int | None = None) -> str:
    """Return where a device, by default the current one, is on the PCI bus."""
    address: str = _device(index).pci_bus_id
    return address


def empty_cache() -> None:
    """Give memory that no array needs back to the driver."""
    from .memory import ALLOCATOR

    ALLOCATOR.empty_cache()


def _device(index: int | None) -> Any:
    import cupy

    return cupy.cuda.Device() if index is None else cupy.cuda.Device(index)
