"""How Python's own containers fall apart into items and what makes them again: for classes derived
from them, which `_pytree.register_pytree_node` is given these functions for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ._pytree_paths import KeyEntry, MappingKey, SequenceKey

Context = Any


def _dict_flatten(d: dict[object, object]) -> tuple[list[Any], Context]:
    """Return the items and the keys of a dict: for containers that are dicts as well."""
    return list(d.values()), list(d)


def _dict_flatten_with_keys(d: dict[object, object]) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    """Return what `_dict_flatten` does, each item with its key of a path."""
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def _dict_unflatten(values: Iterable[object], context: Context) -> dict[Any, Any]:
    """Return the dict of these items and keys."""
    return dict(zip(context, values, strict=True))


def _list_flatten(values: list[object]) -> tuple[list[Any], Context]:
    """Return the items of a list: for containers that are lists as well."""
    return values, None


def _list_flatten_with_keys(values: Sequence[object]) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    """Return what `_list_flatten` does, each item with its key of a path."""
    return [(SequenceKey(at), value) for at, value in enumerate(values)], None


def _list_unflatten(values: Iterable[object], context: Context) -> list[Any]:
    """Return the list of these items."""
    return list(values)


def _tuple_flatten(values: tuple[object, ...]) -> tuple[list[Any], Context]:
    """Return the items of a tuple: for containers that are tuples as well."""
    return list(values), None


def _tuple_flatten_with_keys(
    values: tuple[object, ...],
) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    """Return what `_tuple_flatten` does, each item with its key of a path."""
    return _list_flatten_with_keys(list(values))


def _tuple_unflatten(values: Iterable[object], context: Context) -> tuple[Any, ...]:
    """Return the tuple of these items."""
    return tuple(values)


def _namedtuple_flatten(values: Any) -> tuple[list[Any], Context]:
    """Return the items and the class of a named tuple: for classes that are registered."""
    return list(values), type(values)


def _namedtuple_unflatten(values: Iterable[object], context: Context) -> Any:
    """Return the named tuple of these items."""
    return context(*values)


def is_structseq_class(cls: type) -> bool:
    """Return whether a class is one of the named tuples that are written in C, as `time`'s."""
    return (
        cls.__bases__ == (tuple,)
        and isinstance(getattr(cls, "n_sequence_fields", None), int)
        and isinstance(getattr(cls, "n_fields", None), int)
        and isinstance(getattr(cls, "n_unnamed_fields", None), int)
    )


def is_structseq_instance(obj: object) -> bool:
    """Return whether a value is a named tuple of a class that is written in C."""
    return is_structseq_class(type(obj))
