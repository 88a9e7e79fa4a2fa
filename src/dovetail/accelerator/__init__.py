"""The accelerator of this machine, as in ``torch.accelerator``: CUDA if available, else none."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from dovetail_kernel import Device, DeviceLike

from .. import cuda
from ..names.missing import serve_names as _serve_names

__all__ = [
    "current_accelerator",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "get_memory_info",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats",
    "set_device_index",
    "set_stream",
    "synchronize",
]


def is_available() -> bool:
    """Return whether there is an accelerator."""
    return cuda.is_available()


def device_count() -> int:
    """Return the number of devices of the accelerator; 0 if there is none."""
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> Device | None:
    """Return the device type of the accelerator; None if there is none.

    Parameters
    ----------
    check_available
        Accepted and ignored: only an available accelerator is returned. Default: False.
    """
    return Device("cuda") if is_available() else None


def _check_available() -> None:
    """Raise RuntimeError where there is no accelerator."""
    if not is_available():
        raise RuntimeError(
            "Cannot access accelerator device when none is available. dovetail-cuda has one: "
            "install it, and CuPy for your CUDA version."
        )


def current_device_index() -> int:
    """Return the index of the current device.

    Raises
    ------
    RuntimeError
        If there is no accelerator; this holds for all functions below.
    """
    _check_available()
    return cuda.current_device()


def set_device_index(device: DeviceLike | None) -> None:
    """Set the current device (an index, a string, a `device`)."""
    _check_available()
    cuda.set_device(device)


def synchronize(device: DeviceLike | None = None) -> None:
    """Wait until a device, by default the current one, has completed all work."""
    _check_available()
    cuda.synchronize(device)


def empty_cache() -> None:
    """Release the cached memory that no tensor uses."""
    _check_available()
    cuda.empty_cache()


def memory_allocated(device: DeviceLike | None = None) -> int:
    """Return the memory of live tensors in bytes."""
    _check_available()
    return cuda.memory_allocated(device)


def memory_reserved(device: DeviceLike | None = None) -> int:
    """Return the size of the memory pool in bytes."""
    _check_available()
    return cuda.memory_reserved(device)


def max_memory_allocated(device: DeviceLike | None = None) -> int:
    """Return the peak memory of live tensors in bytes."""
    _check_available()
    return cuda.max_memory_allocated(device)


def max_memory_reserved(device: DeviceLike | None = None) -> int:
    """Return the peak size of the memory pool in bytes."""
    _check_available()
    return cuda.max_memory_reserved(device)


def memory_stats(device: DeviceLike | None = None) -> dict[str, Any]:
    """Return the statistics of the memory pool, as `dovetail.cuda.memory_stats` does."""
    _check_available()
    return cuda.memory_stats(device)


def reset_peak_memory_stats(device: DeviceLike | None = None) -> None:
    """Reset the peak memory statistics."""
    _check_available()
    cuda.reset_peak_memory_stats(device)


def get_memory_info(device: DeviceLike | None = None) -> tuple[int, int]:
    """Return the free and the total memory of a device in bytes."""
    _check_available()
    return cuda.mem_get_info(device)


def current_stream(device: DeviceLike | None = None) -> Any:
    """Return the current stream of a device."""
    _check_available()
    return cuda.current_stream(device)


def set_stream(stream: Any) -> None:
    """Set the current stream."""
    _check_available()
    cuda.set_stream(stream)


class device_index:
    """Context manager that selects the current device; None changes nothing."""

    def __init__(self, device: int | None) -> None:
        self._device = device

    def __enter__(self) -> None:
        self._block: AbstractContextManager[Any] = nullcontext()
        if self._device is not None:
            _check_available()
            self._block = cuda.device(self._device)
        self._block.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._block.__exit__(*error)


_serve_names(__name__)
