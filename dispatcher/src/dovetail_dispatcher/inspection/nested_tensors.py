"""Finds and changes the tensors among the arguments and results of calls, however nested."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dovetail_kernel import TensorBase


def tensors_in(value: object) -> Iterator[TensorBase]:
    """Yield every tensor of `value`, in lists, tuples and dicts too."""
    if isinstance(value, TensorBase):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


def map_tensors(value: object, change: Callable[[TensorBase], object]) -> Any:
    """Return `value` with every tensor changed, in lists, tuples and dicts too."""
    if isinstance(value, TensorBase):
        return change(value)
    if isinstance(value, dict):
        return {name: map_tensors(item, change) for name, item in value.items()}
    if isinstance(value, list):
        return [map_tensors(item, change) for item in value]
    if isinstance(value, tuple):
        items = [map_tensors(item, change) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value
