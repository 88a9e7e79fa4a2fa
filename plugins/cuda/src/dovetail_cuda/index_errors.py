"""Indices out of range, which kernels find and the host hears of when it next waits for the device.

Asking for them at once would make every indexing wait. A kernel writes the first wrong index that
it finds into host memory that the device reaches; what waits looks there. Meanwhile the wrong
index wraps, so that no other memory is touched. ``CUDA_LAUNCH_BLOCKING=1`` waits at once, and the
error comes from the call that is wrong.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import count
from typing import Any, Final

import cupy
import numpy as np

from dovetail_aten.typing import Array
from dovetail_kernel import AcceleratorError


class LateIndexError(AcceleratorError, IndexError):
    """An index out of range, found after the call that has it had returned."""


_FIELDS: Final = 4
_BLOCKING: Final = "CUDA_LAUNCH_BLOCKING"
_MESSAGES: Final = (
    "",
    "Target {index} is out of bounds. There are {size} classes.",
    "Found an invalid max index: {index} (output volumes have {size} elements)",
)
CLASS, PLACE = 1, 2
"""Which words the error has, where a kernel finds it on its way."""
_FIRST: Final = 16
_KEPT: Final = 4096
_errors: dict[int, Callable[[Any], Exception]] = {}
"""What makes the errors of the checks that were asked for last, by their number."""
_numbers = count(_FIRST)

REPORT_CODE: Final = """
__device__ inline void report_index(
    long long* report, long long words, long long index, long long dim, long long size) {
  report[1] = index;
  report[2] = dim;
  report[3] = size;
  __threadfence();
  report[0] = words;
}
"""
"""For kernels that check indices on their way."""

_check = cupy.ElementwiseKernel(
    "I index, int64 least, int64 size, int64 dim, int64 words, raw int64 report",
    "",
    """if ((long long)index < least || (long long)index >= size)
         report_index((long long*)&report[0], words, index, dim, size);""",
    "dovetail_check_index",
    preamble=REPORT_CODE,
)
_reports: dict[int, tuple[Any, Any]] = {}


def report_of_device() -> Any:
    """Return the report of the current device, an array that its kernels may write."""
    return _report(cupy.cuda.Device().id)[1]


def check_index(
    index: Array, least: int, size: int, dim: int, words: int, kind: type = IndexError
) -> None:
    """Let the device check that all of `index` lie in [`least`, `size`).

    Raises
    ------
    IndexError, RuntimeError
        `kind`, at once with ``CUDA_LAUNCH_BLOCKING=1``; otherwise a `LateIndexError` when the
        device is next waited for.
    """
    if index.size:
        _check(index, least, size, dim, words, report_of_device())
        raise_if_blocking(kind)


def check_places(index: Array, least: int, size: int, error: Callable[..., Exception]) -> None:
    """Let the device check that all of `index` lie in [`least`, `size`).

    Raises
    ------
    IndexError, RuntimeError
        What `error` makes of the first that does not, at once with ``CUDA_LAUNCH_BLOCKING=1``;
        otherwise a `LateIndexError` with its words when the device is next waited for.
    """
    number = next(_numbers)
    _errors[number] = error
    _errors.pop(number - _KEPT, None)
    check_index(index, least, size, 0, number)


def raise_if_blocking(kind: type = IndexError) -> None:
    """Wait for the device and raise what it found, if launches are to block."""
    if os.environ.get(_BLOCKING) == "1":
        cupy.cuda.get_current_stream().synchronize()
        raise_reported(kind=kind)


def raise_reported(kind: type = IndexError) -> None:
    """Raise the error that kernels have reported, for the caller has waited for the device. Raises
    IndexError for the first device that has one; its report is taken back. A `LateIndexError`,
    unless launches block.
    """
    for host, _ in _reports.values():
        if host[0]:
            words, index, dim, size = (int(each) for each in host)
            host[:] = 0
            error = _error_of(words, index, dim, size, kind)
            if os.environ.get(_BLOCKING) == "1":
                raise error
            raise LateIndexError(
                f"{error}: found when the device was waited for; an earlier call is wrong. Set "
                f"{_BLOCKING}=1 to see which."
            )


def _error_of(words: int, index: int, dim: int, size: int, kind: type) -> Exception:
    if words < _FIRST:
        made: Exception = kind(_MESSAGES[words].format(index=index, dim=dim, size=size))
        return made
    make = _errors.get(words)
    if make is None:  # so many were asked for since
        return IndexError(f"index {index} is out of bounds for size {size}")
    return make(index)


def _report(device: int) -> tuple[Any, Any]:
    known = _reports.get(device)
    if known is None:
        itemsize = np.dtype(np.int64).itemsize
        pinned = cupy.cuda.alloc_pinned_memory(_FIELDS * itemsize)
        host = np.frombuffer(pinned, np.int64, _FIELDS)
        host[:] = 0
        # With unified addresses the device reaches pinned memory where the host does.
        memory = cupy.cuda.UnownedMemory(pinned.ptr, _FIELDS * itemsize, pinned, device)
        shown = cupy.ndarray((_FIELDS,), np.int64, cupy.cuda.MemoryPointer(memory, 0))
        known = _reports.setdefault(device, (host, shown))
    return known
