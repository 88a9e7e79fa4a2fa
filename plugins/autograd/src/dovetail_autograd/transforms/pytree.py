"""Nested containers as a flat list of leaves and a structure: tuples, lists, dicts and named tuples
are containers.

Everything else is a leaf, None included.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["LEAF", "Structure", "flatten", "flatten_prefix", "map_leaves", "unflatten"]


@dataclass(frozen=True, slots=True)
class Structure:
    """Describes nested containers without their leaves.

    Attributes
    ----------
    kind
        The type of the container; None for a leaf.
    keys
        The keys of a dict, in its order.
    children
        The structures of the items.
    factory
        The ``default_factory`` of a defaultdict.
    """

    kind: type | None = None
    keys: tuple[Any, ...] = ()
    children: tuple[Structure, ...] = ()
    factory: Any = None

    @property
    def leaf_count(self) -> int:
        """The number of leaves."""
        return 1 if self.kind is None else sum([child.leaf_count for child in self.children])

    def __repr__(self) -> str:
        if self.kind is None:
            return "*"
        items = [repr(child) for child in self.children]
        if self.keys or issubclass(self.kind, dict):
            return (
                "{"
                + ", ".join(
                    [f"{key!r}: {item}" for key, item in zip(self.keys, items, strict=True)]
                )
                + "}"
            )
        if self.kind is list:
            return f"[{', '.join(items)}]"
        name = "" if self.kind is tuple else self.kind.__name__
        return f"{name}({', '.join(items)}{',' if len(items) == 1 and not name else ''})"


LEAF: Final = Structure()


def _children(tree: Any) -> tuple[tuple[Any, ...], Iterable[Any]] | None:
    """Return the keys and the items of a container, or None for a leaf."""
    kind = type(tree)
    if kind is tuple or kind is list or (isinstance(tree, tuple) and hasattr(kind, "_fields")):
        return (), tree
    if kind is dict or kind is OrderedDict or kind is defaultdict:
        return tuple(tree), tree.values()
    return None


def flatten(tree: Any) -> tuple[list[Any], Structure]:
    """Return the leaves of `tree`, in order, and its structure."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves)


def _flatten(tree: Any, leaves: list[Any]) -> Structure:
    found = _children(tree)
    if found is None:
        leaves.append(tree)
        return LEAF
    keys, items = found
    children = tuple([_flatten(item, leaves) for item in items])
    return Structure(type(tree), keys, children, getattr(tree, "default_factory", None))


def unflatten(structure: Structure, leaves: Iterable[Any]) -> Any:
    """Return the tree of this structure with these leaves."""
    return _unflatten(structure, iter(leaves))


def _unflatten(structure: Structure, leaves: Any) -> Any:
    kind = structure.kind
    if kind is None:
        return next(leaves)
    items = [_unflatten(child, leaves) for child in structure.children]
    if kind is list:
        return items
    if kind is tuple:
        return tuple(items)
    if kind is defaultdict:
        return defaultdict(structure.factory, zip(structure.keys, items, strict=True))
    if issubclass(kind, dict):
        return kind(zip(structure.keys, items, strict=True))
    make: Callable[[list[Any]], Any] = kind._make  # type: ignore[attr-defined]  # of a named tuple
    return make(items)


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """Return `tree` with `function` applied to every leaf."""
    leaves, structure = flatten(tree)
    return unflatten(structure, [function(leaf) for leaf in leaves])


def flatten_prefix(prefix: Any, structure: Structure) -> list[Any] | None:
    """Return one value per leaf of `structure`: a leaf of `prefix` stands for everything below its
    place.

    Returns None if `prefix` is not the beginning of such a tree: it has other containers, or goes
    deeper.
    """
    values: list[Any] = []
    return values if _spread(prefix, structure, values) else None


def _spread(prefix: Any, structure: Structure, values: list[Any]) -> bool:
    found = _children(prefix)
    if found is None:
        values.extend([prefix] * structure.leaf_count)
        return True
    keys, items = found
    if type(prefix) is not structure.kind:
        return False
    if isinstance(prefix, dict):
        if set(keys) != set(structure.keys):
            return False
        items = [prefix[key] for key in structure.keys]
    children = list(items)
    if len(children) != len(structure.children):
        return False
    return all(
        [
            _spread(item, child, values)
            for item, child in zip(children, structure.children, strict=True)
        ]
    )
