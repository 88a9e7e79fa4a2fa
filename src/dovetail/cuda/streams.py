"""Streams and events of CUDA devices: CuPy's, under PyTorch's names."""

from __future__ import annotations

from ctypes import c_void_p
from typing import Any

from dovetail_kernel import Device, DeviceLike

from .devices import current_device
from .devices import device as device_block
from .plugin import index_of, of_plugin


class Stream:
    """A queue of work for a device.

    Parameters
    ----------
    device
        Default: the current one.
    priority
        Lower numbers have higher priority.
    """

    def __init__(self, device: Any = None, priority: int = 0, *, _native: Any = None) -> None:
        index = index_of(device)
        self.device_index = current_device() if index is None else index
        self.priority = priority
        self.native = _native
        if _native is None:
            with device_block(self.device_index):
                self.native = of_plugin("streams").new_stream(priority)

    @property
    def device(self) -> Device:
        """The device."""
        return Device("cuda", self.device_index)

    @property
    def cuda_stream(self) -> int:
        """The address of the driver's stream."""
        address: int = self.native.ptr
        return address

    @property
    def _as_parameter_(self) -> c_void_p:
        """What ctypes passes to a C function."""
        return c_void_p(self.cuda_stream)

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the version of the protocol, and the address of the driver's stream."""
        return 0, self.cuda_stream

    def query(self) -> bool:
        """Return whether all work is done."""
        done: bool = self.native.done
        return done

    def synchronize(self) -> None:
        """Wait until all work is done. Raises IndexError as `dovetail.cuda.synchronize`."""
        of_plugin("streams").synchronize(self.native)

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event, by default a new one, and return it."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Make further work wait for an event."""
        self.native.wait_event(event.native)

    def wait_stream(self, stream: Stream) -> None:
        """Make further work wait for the current work of `stream`."""
        self.wait_event(stream.record_event())

    def __enter__(self) -> Stream:
        of_plugin("streams").enter(self.native)
        return self

    def __exit__(self, *error: object) -> None:
        of_plugin("streams").leave(self.native)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.cuda_stream == other.cuda_stream

    def __hash__(self) -> int:
        return hash(self.cuda_stream)

    def __repr__(self) -> str:
        return f"<dovetail.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """A stream created by another library, from its address."""

    def __init__(self, stream_ptr: int, device: Any = None) -> None:
        super().__init__(device, _native=of_plugin("streams").external_stream(stream_ptr))


def get_stream_from_external(data_ptr: int, device: DeviceLike | None = None) -> Stream:
    """Return a stream created by another library, from its address."""
    return ExternalStream(data_ptr, device)


class Event:
    """An event in a stream.

    Parameters
    ----------
    enable_timing
        Whether `elapsed_time` is supported.
    blocking
        Whether waiting for the event yields the processor.
    """

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        self.native = of_plugin("streams").new_event(enable_timing, blocking, interprocess)

    @property
    def cuda_event(self) -> int:
        """The address of the driver's event."""
        address: int = self.native.ptr
        return address

    def record(self, stream: Stream | None = None) -> None:
        """Record the event in a stream, by default the current one."""
        self.native.record((stream or current_stream()).native)

    def wait(self, stream: Stream | None = None) -> None:
        """Make further work of a stream, by default the current one, wait for the event."""
        (stream or current_stream()).wait_event(self)

    def query(self) -> bool:
        """Return whether the event is complete."""
        done: bool = self.native.done
        return done

    def synchronize(self) -> None:
        """Wait until the event is complete."""
        self.native.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """Return the milliseconds between this event and a later one."""
        return float(of_plugin("streams").elapsed_time(self.native, end_event.native))


def current_stream(device: DeviceLike | None = None) -> Stream:
    """Return the current stream of a device, by default of the current device."""
    index = index_of(device)
    with device_block(index):
        return Stream(index, _native=of_plugin("streams").current_stream())


def default_stream(device: DeviceLike | None = None) -> Stream:
    """Return the default stream of a device."""
    return Stream(device, _native=of_plugin("streams").default_stream())


def set_stream(stream: Stream) -> None:
    """Set the current stream of the stream's device."""
    with device_block(stream.device_index):
        stream.native.use()


class StreamContext:
    """Context manager that selects the stream of operators; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *error: object) -> None:
        if self.stream is not None:
            self.stream.__exit__(*error)


def stream(stream: Stream | None) -> StreamContext:
    """Return a context manager that selects `stream`; None changes nothing."""
    return StreamContext(stream)
