"""Nested arguments and results: finding and replacing tensors, and signatures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dovetail_kernel import TensorBase


def tensors_of(value: object) -> Iterator[TensorBase]:
    """Yield the tensors in lists, tuples, dicts and slices, in order."""
    if isinstance(value, TensorBase):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_of(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_of(item)
    elif isinstance(value, slice):
        yield from tensors_of((value.start, value.stop, value.step))


def replaced(value: object, kind: type, function: Callable[..., object]) -> Any:
    """Return `value` with `function` applied to all instances of `kind`; changed containers are
    copied.
    """
    if isinstance(value, kind):
        return function(value)
    if isinstance(value, list | tuple):
        items = [replaced(item, kind, function) for item in value]
        if all([new is old for new, old in zip(items, value, strict=True)]):
            return value
        cls: Any = type(value)
        if hasattr(cls, "_make"):
            return cls._make(items)
        return cls(items)
    if isinstance(value, dict):
        pairs = {key: replaced(item, kind, function) for key, item in value.items()}
        if all([pairs[key] is item for key, item in value.items()]):
            return value
        cls = type(value)
        return pairs if cls is dict else cls(pairs)
    if isinstance(value, slice):
        parts = (value.start, value.stop, value.step)
        new = replaced(parts, kind, function)
        return value if new is parts else slice(*new)
    return value


def signature_of(value: object, seen: dict[int, int]) -> Any:
    """Return the signature of arguments: their structure, and the geometry of tensors.

    Parameters
    ----------
    seen
        The tensors that came before, by identity, and their numbers; grows.

    Raises
    ------
    RuntimeError
        For anything but tensors, and lists, tuples and dicts of them.
    """
    if isinstance(value, TensorBase):
        number = seen.setdefault(id(value), len(seen))
        return (
            *(number, type(value), value.dtype, value.device, tuple(value.shape)),
            *(tuple(value.stride()), value.requires_grad, value.is_leaf, value.is_inference()),
        )
    if isinstance(value, list | tuple):
        return type(value), tuple([signature_of(item, seen) for item in value])
    if isinstance(value, dict):
        pairs = [(key, signature_of(item, seen)) for key, item in value.items()]
        return type(value), tuple(pairs)
    raise RuntimeError(
        f"Type '{type(value).__name__}' cannot be traced. Only Tensors and (possibly nested) "
        "Lists, Dicts, and Tuples of Tensors can be traced. Bind other arguments first: "
        "functools.partial."
    )
