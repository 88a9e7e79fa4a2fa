"""The memory of CUDA devices."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import DeviceLike, warn_user

from .plugin import index_of, is_available, of_plugin


def memory_allocated(device: DeviceLike | None = None) -> int:
    """Return the bytes that live tensors take on a device, by default the current one; 0 where
    there is no CUDA.
    """
    if not is_available():
        return 0
    used: int = of_plugin("devices").memory_statistics(index_of(device)).allocated_bytes
    return used


def memory_reserved(device: DeviceLike | None = None) -> int:
    """Return the bytes that CuPy's pool has of a device, by default the current one: those of live
    tensors, and what it keeps for later ones. 0 where there is no CUDA.
    """
    if not is_available():
        return 0
    reserved: int = of_plugin("devices").memory_statistics(index_of(device)).reserved_bytes
    return reserved


def max_memory_allocated(device: DeviceLike | None = None) -> int:
    """Return the most bytes that live tensors took on a device since peaks are counted: since the
    first call of this function, of `max_memory_reserved` or of `reset_peak_memory_stats`. 0 where
    there is no CUDA.
    """
    return _peak("allocated", device)


def max_memory_reserved(device: DeviceLike | None = None) -> int:
    """Return the most bytes that CuPy's pool had of a device, as `max_memory_allocated`."""
    return _peak("reserved", device)


def reset_peak_memory_stats(device: DeviceLike | None = None) -> None:
    """Begin to count peaks, from what is taken now; nothing happens where there is no CUDA."""
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
    """Let tensors take no more than a part of the memory of a device, by default the current one;
    beyond it `OutOfMemoryError` is raised.

    Parameters
    ----------
    fraction
        From 0 to 1.

    Raises
    ------
    TypeError, ValueError
        For another one.
    AssertionError
        Where CUDA is not available, with the reason.
    """
    plugin = of_plugin("devices")
    if not isinstance(fraction, float):
        raise TypeError(f"Invalid type for fraction argument, must be `float`, not {fraction!r}.")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    plugin.set_memory_limit(fraction, index_of(device))


def get_per_process_memory_fraction(device: DeviceLike | None = None) -> float:
    """Return which part of the memory of a device, by default the current one, tensors may take."""
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


def memory_summary(device: DeviceLike | None = None, abbreviated: bool = False) -> str:
    """Return what `memory_stats` says as a table."""
    rows = [f"{name:32} {value:>16,}" for name, value in memory_stats(device).items()]
    return "\n".join([f"{'bytes':32} {'':>16}", *rows])


def mem_get_info(device: DeviceLike | None = None) -> tuple[int, int]:
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
