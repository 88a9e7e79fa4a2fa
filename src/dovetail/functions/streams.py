"""Streams and events of any device, as ``torch.Stream`` and ``torch.Event``: for CUDA, those of
`dovetail.cuda`. Calls on the cpu are synchronous.
"""

from __future__ import annotations

from typing import Any

from dovetail_kernel import Device

from .. import cuda
from ..cuda.plugin import why_unavailable


def _place(device: Any) -> Device:
    """Return the device of a stream or an event; by default the accelerator, else the cpu. Raises
    RuntimeError for a CUDA device where there is none.
    """
    if device is not None:
        place = Device(device) if not isinstance(device, Device) else device
        if place.type == "cuda" and (reason := why_unavailable()) is not None:
            raise RuntimeError(f"not linked with support for cuda devices: {reason}")
        return place
    return Device("cuda" if cuda.is_available() else "cpu")


class Stream:
    """A queue of work for a device. ``Stream("cuda")`` is a `dovetail.cuda.Stream`.

    Parameters
    ----------
    device
        Default: the accelerator, or the cpu if there is none.
    priority
        For CUDA: lower numbers have higher priority.
    """

    def __new__(cls, device: Any = None, *, priority: int = 0) -> Any:
        place = _place(device)
        if place.type == "cuda":
            return cuda.Stream(place, priority)
        self = super().__new__(cls)
        self.device = place
        return self

    device: Device
    stream_id = 0

    def query(self) -> bool:
        """Return True: all work is done."""
        return True

    def synchronize(self) -> None:
        """Do nothing: all work is done."""

    def wait_stream(self, stream: Any) -> None:
        """Do nothing: all work is done."""

    def wait_event(self, event: Any) -> None:
        """Do nothing: all work is done."""

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event, by default a new one, and return it; it is complete immediately."""
        event = event or Event(self.device)
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.device == other.device

    def __hash__(self) -> int:
        return hash(self.device)

    def __repr__(self) -> str:
        return f"dovetail.Stream device_type={self.device.type}, stream_id={self.stream_id}"


class Event:
    """A point in the work of a stream. ``Event("cuda")`` is a `dovetail.cuda.Event`.

    Parameters
    ----------
    device
        Default: the accelerator, or the cpu if there is none.
    enable_timing, blocking, interprocess
        As for `dovetail.cuda.Event`.
    """

    def __new__(
        cls,
        device: Any = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
    ) -> Any:
        place = _place(device)
        if place.type == "cuda":
            return cuda.Event(enable_timing, blocking, interprocess)
        self = super().__new__(cls)
        self.device = place
        return self

    device: Device

    def record(self, stream: Any = None) -> None:
        """Do nothing: all previous work is done."""

    def query(self) -> bool:
        """Return True: all previous work is done."""
        return True

    def synchronize(self) -> None:
        """Do nothing: all previous work is done."""

    def wait(self, stream: Any = None) -> None:
        """Do nothing: all previous work is done."""

    def elapsed_time(self, end_event: Any) -> float:
        """Raise RuntimeError: the cpu does not time events.

        Raises
        ------
        RuntimeError
            Always.
        """
        raise RuntimeError("cpu backend doesn't support events. Measure with time.perf_counter().")

    def __repr__(self) -> str:
        return f"dovetail.Event device_type={self.device.type}"
