"""The most memory that was taken, counted from the first question in the thread that asked: CuPy's
pool does not count it, and a hook in every allocation costs a microsecond.
"""

from __future__ import annotations

from typing import Any

import cupy

from .memory import ALLOCATOR

_peaks: dict[int, dict[str, int]] = {}


class _Hook(cupy.cuda.MemoryHook):  # type: ignore[misc]  # CuPy has no types
    name = "dovetail peaks"

    def malloc_postprocess(self, **kwargs: Any) -> None:
        _note(kwargs["device_id"])


_hook = _Hook()


def reset(index: int | None) -> None:
    """Begin to count on a device, by default the current one."""
    device = cupy.cuda.Device().id if index is None else index
    if not _peaks:
        _hook.__enter__()
    _peaks[device] = {"allocated": 0, "reserved": 0}
    _note(device)


def peak(kind: str, index: int | None) -> int:
    """Return the most bytes that were ``"allocated"`` or ``"reserved"`` since `reset`."""
    device = cupy.cuda.Device().id if index is None else index
    if device not in _peaks:
        reset(device)
    _note(device)
    return _peaks[device][kind]


def _note(device: int) -> None:
    peaks = _peaks.get(device)
    if peaks is not None:
        now = ALLOCATOR.statistics(device)
        peaks["allocated"] = max(peaks["allocated"], now.allocated_bytes)
        peaks["reserved"] = max(peaks["reserved"], now.reserved_bytes)
