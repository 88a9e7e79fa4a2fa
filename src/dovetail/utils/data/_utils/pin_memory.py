"""Moves the tensors of a batch to page-locked memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["pinned"]


def pinned(data: Any) -> Any:
    """Return a batch with its tensors in page-locked memory; what has a ``pin_memory()`` of its own
    is asked.
    """
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, str | bytes):
        return data
    if isinstance(data, Mapping):
        return type(data)({key: pinned(each) for key, each in data.items()})  # type: ignore[call-arg]
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*[pinned(each) for each in data])
    if isinstance(data, tuple):
        return [pinned(each) for each in data]
    if isinstance(data, Sequence):
        return type(data)([pinned(each) for each in data])  # type: ignore[call-arg]
    return data
