"""The CPU as a device, as in ``torch.cpu``: there is one device, and calls are synchronous."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from dovetail_kernel import DeviceLike

from ..names.missing import serve_names as _serve_names

__all__ = [
    "Event",
    "Stream",
    "current_device",
    "current_stream",
    "device_count",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]


def is_available() -> bool:
    """Return True."""
    return True


def is_initialized() -> bool:
    """Return True."""
    return True


def device_count() -> int:
    """Return 1."""
    return 1


def current_device() -> str:
    """Return ``"cpu"``."""
    return "cpu"


def set_device(device: DeviceLike | None) -> None:
    """Do nothing: there is one CPU."""


def synchronize(device: DeviceLike | None = None) -> None:
    """Do nothing: calls are synchronous."""


class Stream:
    """A stream of the cpu, whose work is always complete.

    Parameters
    ----------
    priority
        Accepted and ignored.
    """

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: object) -> None:
        """Do nothing."""

    def record_event(self) -> None:
        """Do nothing."""

    def wait_event(self, event: Any) -> None:
        """Do nothing."""


class Event:
    """An event of the cpu, which is always complete."""

    def query(self) -> bool:
        """Return True."""
        return True

    def record(self, stream: object = None) -> None:
        """Do nothing."""

    def synchronize(self) -> None:
        """Do nothing."""

    def wait(self, stream: object = None) -> None:
        """Do nothing."""


_STREAM = Stream()


def current_stream(device: DeviceLike | None = None) -> Stream:
    """Return the only stream."""
    return _STREAM


def stream(stream: Stream | None) -> AbstractContextManager[None]:
    """Return a context manager without effect: there is only one stream."""
    return nullcontext()


# `amp` needs the operators' autocast, which few programs do.
_serve_names(__name__, ("amp",))
