"""The CPU as a device, as ``torch.cpu``: there is one, and its work is done when a call returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..absent_names import names_of as _names_of

__all__ = [
    "current_device",
    "device_count",
    "is_available",
    "is_initialized",
    "set_device",
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


def set_device(device: Any) -> None:
    """Do nothing: there is one CPU."""


def synchronize(device: Any = None) -> None:
    """Do nothing: the work of a call is done when it returns."""


if not TYPE_CHECKING:  # it needs the operators' autocast, which few programs do
    __getattr__ = _names_of(__name__, ("amp",))
