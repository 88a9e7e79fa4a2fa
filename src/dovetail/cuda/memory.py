"""The memory of CUDA devices."""

from __future__ import annotations

from typing import Any

from .plugin import index_of, is_available, of_plugin


def memory_allocated(device: Any = None) -> int:
    """Return the bytes that live tensors take on a device, by default the current one; 0 where
    there is no CUDA.
    """
    if not is_available():
        return 0
    used: int = of_plugin("devices").memory_statistics(index_of(device)).allocated_bytes
    return used


def memory_reserved(device: Any = None) -> int:
    """Return the bytes that CuPy's pool has of a device, by default the current one: those of live
    tensors, and what it keeps for later ones. 0 where there is no CUDA.
    """
    if not is_available():
        return 0
    reserved: int = of_plugin("devices").memory_statistics(index_of(device)).reserved_bytes
    return reserved


def max_memory_allocated(device: Any = None) -> int:
    """Return the most bytes that live tensors took on a device since peaks are counted: since the
    first call of this function, of `max_memory_reserved` or of `reset_peak_memory_stats`. 0 where
    there is no CUDA.
    """
    return _peak("allocated", device)


def max_memory_reserved(device: Any = None) -> int:
    """Return the most bytes that CuPy's pool had of a device, as `max_memory_allocated`."""
    return _peak("reserved", device)


def reset_peak_memory_stats(device: Any = None) -> None:
    """Begin to count peaks, from what is taken now; nothing happens where there is no CUDA."""
    if is_available():
        of_plugin("memory_peaks").reset(index_of(device))


def memory_stats(device: Any = None) -> dict[str, int]:
    """Return what is known of the memory of a device, under PyTorch's names; empty where there is
    no CUDA.
    """
    if not is_available():
        return {}
    return {
        "allocated_bytes.all.current": memory_allocated(device),
        "allocated_bytes.all.peak": max_memory_allocated(device),
        "reserved_bytes.all.current": memory_reserved(device),
        "reserved_bytes.all.peak": max_memory_reserved(device),
    }


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Return what `memory_stats` says as a table."""
    rows = [f"{name:32} {value:>16,}" for name, value in memory_stats(device).items()]
    return "\n".join([f"{'bytes':32} {'':>16}", *rows])


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Return the bytes that are free on a device, by default the current one, and all there are,
    as the driver says.

    Raises
    ------
    AssertionError
        Where CUDA is not available, with the reason.
    """
    found: tuple[int, int] = of_plugin("devices").memory_info(index_of(device))
    return found


def empty_cache() -> None:
    """Give memory that no tensor needs back to the driver; nothing happens where there is no
    CUDA.
    """
    if is_available():
        of_plugin("devices").empty_cache()


def _peak(kind: str, device: Any) -> int:
    if not is_available():
        return 0
    peak: int = of_plugin("memory_peaks").peak(kind, index_of(device))
    return peak
