"""Streams, events and profiler ranges of CuPy, for the front end."""

from __future__ import annotations

from typing import Any

import cupy

from dovetail_aten.typing import Array

from .waiting import waiting


def new_stream(priority: int) -> Any:
    """Return a new stream of the current device, which does not wait for the default one."""
    return cupy.cuda.Stream(non_blocking=True, priority=priority)


class _Known:
    """A stream of which the address is known, as CuPy takes it."""

    def __init__(self, address: int) -> None:
        self.address = address

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the version of the protocol, and the address."""
        return 0, self.address


def external_stream(address: int) -> Any:
    """Return a stream that another library made."""
    return cupy.cuda.Stream.from_external(_Known(address))


def current_stream() -> Any:
    """Return the stream that operators use."""
    return cupy.cuda.get_current_stream()


def default_stream() -> Any:
    """Return the default stream of a device."""
    return cupy.cuda.Stream.null


def synchronize(stream: Any) -> None:
    """Wait until the work of a stream is done, and raise what its kernels have reported."""
    with waiting():
        stream.synchronize()


def is_capturing() -> bool:
    """Return whether the current stream records launches into a graph."""
    capturing: bool = cupy.cuda.get_current_stream().is_capturing()
    return capturing


def enter(stream: Any) -> None:
    """Make a stream the current one."""
    stream.__enter__()


def leave(stream: Any) -> None:
    """Go back to the stream before."""
    stream.__exit__()


def new_event(timing: bool, blocking: bool, interprocess: bool) -> Any:
    """Return a new event."""
    return cupy.cuda.Event(blocking, not timing, interprocess)


def elapsed_time(first: Array, second: Array) -> float:
    """Return the milliseconds between two events."""
    return float(cupy.cuda.get_elapsed_time(first, second))


def nvtx() -> Any:
    """Return CuPy's functions of NVTX."""
    return cupy.cuda.nvtx
