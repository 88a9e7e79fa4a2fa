"""`Device`: a device type and an optional index, one object for each; and the default device."""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias

from ..errors import did_you_mean
from ..types.immutable import Immutable
from . import default_device
from .backends import accelerator, is_device_type, usable_device_types

_interned: dict[tuple[str, int | None], Device] = {}
_parsed: dict[str, Device] = {}

MAX_INDEX: Final = 2**31 - 1
"""PyTorch parses no larger one, and DLPack exchanges none."""


class Device(Immutable):
    """Device of a tensor: ``Device('cuda:1')``, ``Device('cuda', 1)``, ``Device(another)``.

    Devices are compared exactly: ``Device('cpu') != Device('cpu:0')``. Inside ``with
    Device('meta'):`` the device is the default for new tensors of the current thread or
    asyncio task.

    Parameters
    ----------
    type
        A device type, with or without ``:index``; a Device; or an int, an index on the accelerator
        in use.
    index
        Index of the device, if `type` does not have it.

    Raises
    ------
    RuntimeError
        If the string is not a device string, its type is neither known nor installed, or the index
        is negative or above 2**31 - 1.
    TypeError
        For arguments of other types.
    """

    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __new__(cls, type: str | Device | int, index: int | None = None) -> Device:
        if type.__class__ is str and index is None:
            found = _parsed.get(type)
            if found is not None:
                return found
        return _make(type, index)

    __enter__ = default_device.enter
    __exit__ = default_device.leave

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Device, (str(self),)


DeviceLike: TypeAlias = Device | str | int
"""A device, its name such as ``"cuda:1"``, or the index of an accelerator."""


class _Unnumbered(dict[str, Device]):
    """The devices without an index by their type: reading one costs less than asking for it."""

    def __missing__(self, type: str) -> Device:
        made = self[type] = Device(type)
        return made


UNNUMBERED: Final = _Unnumbered()
"""``UNNUMBERED[type]`` is ``Device(type)``."""

CPU: Final = _interned.setdefault(("cpu", None), Device.make(type="cpu", index=None))


def get_default_device() -> Device:
    """Return the default device of the current thread or asyncio task: cpu unless changed."""
    return default_device.innermost() or CPU


def set_default_device(device: Device | str | None) -> None:
    """Set the default device of the current thread or asyncio task; None means cpu. A ``with
    Device(...)`` block takes precedence.
    """
    default_device.replace_outermost(None if device is None else Device(device))


def _make(type: object, index: object) -> Device:
    if index is not None and (not isinstance(index, int) or isinstance(index, bool)):
        given = index.__class__.__name__
        raise TypeError(
            f"device(): argument 'index' (position 2) must be int, not {given}; give an int"
        )
    if isinstance(type, Device):
        if index is None:
            return type
        raise TypeError(
            "device(): argument 'type' (position 1) must be str, not Device; give device.type and "
            "index"
        )
    if isinstance(type, str):
        return _with_index(type, index) if index is not None else _parse(type)
    if isinstance(type, int) and not isinstance(type, bool) and index is None:
        return _on_accelerator(type)
    raise TypeError(
        f"device() received an invalid combination of arguments - got ({type.__class__.__name__}), "
        "but expected one of: (Device device), (str type, int index), (int index); give a string "
        "such as 'cpu' or 'cuda:1'"
    )


def _parse(string: str) -> Device:
    if not string:
        raise RuntimeError("Device string must not be empty; give one such as 'cpu' or 'cuda:1'")
    type, colon, number = string.partition(":")
    if colon and not re.fullmatch("0|[1-9][0-9]*", number):
        raise RuntimeError(
            f"Invalid device string: '{string}'; give a type and an index, such as 'cuda:1'"
        )
    _check_type(type, string)
    if len(number) > len(str(MAX_INDEX)) or (colon and int(number) > MAX_INDEX):
        raise RuntimeError(
            f"Could not parse device index '{number}' in device string '{string}'; give one of at "
            f"most {MAX_INDEX}"
        )
    return _parsed.setdefault(string, _intern(type, int(number) if colon else None))


def _with_index(type: str, index: int) -> Device:
    if ":" in type:
        raise RuntimeError(
            "type (string) must not include an index because index was passed explicitly: "
            f"{type}; leave one out"
        )
    if index < 0:
        raise RuntimeError(
            f"Device index must not be negative, got {index}; leave it out for the current device"
        )
    if index > MAX_INDEX:
        raise RuntimeError(f"Device index must be at most {MAX_INDEX}, got {index}")
    _check_type(type, type)
    return _intern(type, index)


def _on_accelerator(index: int) -> Device:
    backend = accelerator()
    if backend is None:
        raise RuntimeError(
            "Cannot access accelerator device when none is available. Name the device type: "
            f"Device('cuda', {index})"
        )
    return _with_index(backend.name, index)


def _check_type(type: str, string: str) -> None:
    if not is_device_type(type):
        known = usable_device_types()
        raise RuntimeError(
            f"Expected one of {', '.join(known)} device type at start of device string: {string}."
            f"{did_you_mean(type, known)} Another device type becomes valid when a plugin that "
            "provides it is installed."
        )


def _intern(type: str, index: int | None) -> Device:
    return _interned.setdefault((type, index), Device.make(type=type, index=index))
