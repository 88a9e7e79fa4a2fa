"""Where the elements of tensors are: the device, remembered where the signature alone says it."""

from __future__ import annotations

from typing import Any, Final

from .backends import backend_of_signature
from .device import UNNUMBERED, Device

KNOWN_DEVICES: Final[dict[int, Device]] = {}
"""The device of each signature that was asked for, where its arrays have no part in it: few."""


def device_of(signature: int, array: Any) -> Device:
    """Return the device of a tensor, and remember it if its array has no part in it."""
    backend = backend_of_signature(signature)
    if not backend.is_device:
        wrapped: Device = array.physical.device
        return wrapped
    index = backend.arrays.device_index(array)
    if index is not None:
        return Device(backend.name, index)
    device = UNNUMBERED[backend.name]
    if backend.arrays.is_unnumbered:
        if len(KNOWN_DEVICES) >= 1024:
            KNOWN_DEVICES.clear()
        KNOWN_DEVICES[signature] = device
    return device
