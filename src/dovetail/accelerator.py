"""The accelerator of this machine, as ``torch.accelerator``: CUDA where it works, else none."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import Device

from . import cuda

__all__ = [
    "current_accelerator",
    "current_device_index",
    "device_count",
    "empty_cache",
    "is_available",
    "memory_allocated",
    "memory_reserved",
    "set_device_index",
    "synchronize",
]


def is_available() -> bool:
    """Return whether there is an accelerator."""
    return cuda.is_available()


def device_count() -> int:
    """Return the number of devices of the accelerator; 0 where there is none."""
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> Device | None:
    """Return the device type of the accelerator; None where there is none.

    Parameters
    ----------
    check_available
        Nothing follows from it: an accelerator is named where it works. Default: False.
    """
    return Device("cuda") if is_available() else None


def current_device_index() -> int:
    """Return the index of the current device.

    Raises
    ------
    AssertionError
        Where there is no accelerator; so do the functions below that need one.
    """
    return cuda.current_device()


def set_device_index(device: Any) -> None:
    """Make another device (an index, a string, a `device`) the current one."""
    cuda.set_device(device)


def synchronize(device: Any = None) -> None:
    """Wait until a device, by default the current one, has done all that was asked of it."""
    cuda.synchronize(device)


def empty_cache() -> None:
    """Give back the memory that no tensor uses."""
    cuda.empty_cache()


def memory_allocated(device: Any = None) -> int:
    """Return the bytes that live tensors take; 0 where there is no accelerator."""
    return cuda.memory_allocated(device)


def memory_reserved(device: Any = None) -> int:
    """Return the bytes that the pool has; 0 where there is no accelerator."""
    return cuda.memory_reserved(device)
