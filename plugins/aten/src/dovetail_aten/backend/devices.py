"""From a device as a user gives it to a backend that is ready to make arrays."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import Backend, Device, get_default_device, plugin_manager


def as_device(device: Any) -> Device:
    """Return a device given as a Device, a string, an index, or None for the default device."""
    if device.__class__ is Device:
        found: Device = device
        return found
    return get_default_device() if device is None else Device(device)


def backend_for(device: Device) -> Backend:
    """Return the backend of `device`, its plugin loaded.

    Raises
    ------
    AssertionError
        For cuda where it cannot be had, as PyTorch without CUDA does.
    PluginError
        For any other device type whose plugin is missing or does not work here.
    RuntimeError
        For an index beyond the last device.
    """
    found = ready_backend(device.type)
    if device.index:
        _check_index(device, found)
    return found


def ready_backend(name: str) -> Backend:
    """Load the plugin of a device type if necessary, and return its backend. Raises the errors of
    `backend_for`.
    """
    found = _ready.get(name)
    if found is None:
        found = _load(name)
        _ready[name] = found
    return found


_ready: dict[str, Backend] = {}


def index_on(arrays: Any, device: Device) -> int | None:
    """Return which device of a backend is meant: where its index is open, the current one. None
    where there is only one.
    """
    found: int | None = arrays.current_device() if device.index is None else device.index
    return found


def is_on(arrays: Any, array: Any, device: Device) -> bool:
    """Return whether an array of a backend is on its device; see `index_on`."""
    index = index_on(arrays, device)
    return index is None or index == (arrays.device_index(array) or 0)


def _check_index(device: Device, found: Backend) -> None:
    count = found.arrays.device_count()
    if device.index is not None and device.index >= count and device.type not in ("cpu", "meta"):
        raise RuntimeError(
            f"{device.type} error: invalid device ordinal: {device} was requested, but there "
            f"{'is 1 device' if count == 1 else f'are {count} devices'}. "
            f"Use {device.type}:0{f' to {device.type}:{count - 1}' if count > 1 else ''}."
        )


def _load(name: str) -> Backend:
    try:
        return plugin_manager.attached_backend(name)
    except RuntimeError as reason:
        if name == "cuda":
            raise AssertionError(f"Torch not compiled with CUDA enabled: {reason}") from reason
        raise
