"""The memory of CUDA devices."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import DeviceLike, warn_user

from .plugin import index_of, is_available, of_plugin


def memory_allocated(device: DeviceLike | None = None) -> int:
    """Return the memory of live tensors on a device, by default the current one, in bytes; 0
    without CUDA.
    """
    if not is_available():
        return 0
    used: int = of_plugin("devices").memory_statistics(index_of(device)).allocated_bytes
    return used


def memory_reserved(device: DeviceLike | None = None) -> int:
    """Return the size of CuPy's pool on a device, by default the current one, in bytes, including
    cached memory; 0 without CUDA.
    """
    if not is_available():
        return 0
    reserved: int = of_plugin("devices").memory_statistics(index_of(device)).reserved_bytes
    return reserved


def max_memory_allocated(device: DeviceLike | None = None) -> int:
    """Return the peak memory of live tensors on a device in bytes. Counting starts with the first
    call of this function, of `max_memory_reserved` or of `reset_peak_memory_stats`. 0 without CUDA.
    """
    return _peak("allocated", device)


def max_memory_reserved(device: DeviceLike | None = None) -> int:
    """Return the peak size of CuPy's pool on a device in bytes, as `max_memory_allocated`."""
    return _peak("reserved", device)


def reset_peak_memory_stats(device: DeviceLike | None = None) -> None:
    """Reset the peak memory statistics to the current values; does nothing without CUDA."""
    if is_available():
        of_plugin("memory_peaks").reset(index_of(device))


def reset_max_memory_allocated(device: DeviceLike | None = None) -> None:
    """Call `reset_peak_memory_stats`, with a FutureWarning."""
    _warn_of_peaks("reset_max_memory_allocated")
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device: DeviceLike | None = None) -> None:
    """Call `reset_peak_memory_stats`, with a FutureWarning."""
    _warn_of_peaks("reset_max_memory_cached")
    reset_peak_memory_stats(device)


def memory_cached(device: DeviceLike | None = None) -> int:
    """Return `memory_reserved`, with a FutureWarning."""
    _warn("memory_cached has been renamed to dovetail.cuda.memory_reserved")
    return memory_reserved(device)


def max_memory_cached(device: DeviceLike | None = None) -> int:
    """Return `max_memory_reserved`, with a FutureWarning."""
    _warn("max_memory_cached has been renamed to dovetail.cuda.max_memory_reserved")
    return max_memory_reserved(device)


def set_per_process_memory_fraction(fraction: float, device: DeviceLike | None = None) -> None:
    """Limit the memory of tensors to a fraction of the memory of a device, by default the current
    one; exceeding it raises `OutOfMemoryError`.

    Parameters
    ----------
    fraction
        From 0 to 1.

    Raises
    ------
    TypeError, ValueError
        For any other value.
    AssertionError
        If CUDA is not available, with the reason.
    """
    plugin = of_plugin("devices")
    if not isinstance(fraction, float):
        raise TypeError(f"Invalid type for fraction argument, must be `float`, not {fraction!r}.")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    plugin.set_memory_limit(fraction, index_of(device))


def get_per_process_memory_fraction(device: DeviceLike | None = None) -> float:
    """Return the fraction of the memory of a device, by default the current one, that tensors may
    use.
    """
    fraction: float = of_plugin("devices").memory_limit(index_of(device))
    return fraction


def memory_stats_as_nested_dict(device: DeviceLike | None = None) -> dict[str, Any]:
    """Return `memory_stats` as dicts within dicts: ``["allocated_bytes"]["all"]["peak"]``."""
    nested: dict[str, Any] = {}
    for name, value in memory_stats(device).items():
        *outer, last = name.split(".")
        inner = nested
        for part in outer:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return nested


def memory_stats(device: DeviceLike | None = None) -> dict[str, int]:
    """Return memory statistics of a device under PyTorch's names; empty without CUDA."""
    if not is_available():
        return {}
    return {
        "allocated_bytes.all.current": memory_allocated(device),
        "allocated_bytes.all.peak": max_memory_allocated(device),
        "reserved_bytes.all.current": memory_reserved(device),
        "reserved_bytes.all.peak": max_memory_reserved(device),
    }


def memory_summary(device: DeviceLike | None = None, abbreviated: bool = False) -> str:
    """Return `memory_stats` as a table."""
    rows = [f"{name:32} {value:>16,}" for name, value in memory_stats(device).items()]
    return "\n".join([f"{'bytes':32} {'':>16}", *rows])


def mem_get_info(device: DeviceLike | None = None) -> tuple[int, int]:
    """Return the free and the total memory of a device, by default the current one, in bytes, as
    reported by the driver.

    Raises
    ------
    AssertionError
        If CUDA is not available, with the reason.
    """
    found: tuple[int, int] = of_plugin("devices").memory_info(index_of(device))
    return found


def empty_cache() -> None:
    """Release unused cached memory to the driver; does nothing without CUDA."""
    if is_available():
        of_plugin("devices").empty_cache()


def _warn_of_peaks(name: str) -> None:
    _warn(
        f"{name} now calls dovetail.cuda.reset_peak_memory_stats, which resets /all/ peak memory "
        "stats."
    )


def _warn(text: str) -> None:
    warn_user(f"dovetail.cuda.{text}", FutureWarning)


def _peak(kind: str, device: DeviceLike | None) -> int:
    if not is_available():
        return 0
    peak: int = of_plugin("memory_peaks").peak(kind, index_of(device))
    return peak
