"""Moves the tensors of a batch to page-locked memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dovetail_kernel import DeviceLike

__all__ = ["pin_memory"]


def pin_memory(data: object, device: DeviceLike | None = None) -> Any:
    """Return a batch with its tensors in page-locked memory; what has a ``pin_memory()`` of its own
    is asked. `device` is without effect.
    """
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, str | bytes):
        return data
    if isinstance(data, Mapping):
        return type(data)({key: pin_memory(each) for key, each in data.items()})  # type: ignore[call-arg]
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*[pin_memory(each) for each in data])
    if isinstance(data, tuple):
        return [pin_memory(each) for each in data]
    if isinstance(data, Sequence):
        return type(data)([pin_memory(each) for each in data])  # type: ignore[call-arg]
    return data
