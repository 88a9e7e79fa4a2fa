"""Paths to the leaves of nested containers, as ``torch.utils._pytree`` has them: a key for every
container on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, TypeAlias

from dovetail_autograd.transforms import pytree

IsLeaf: TypeAlias = Callable[[Any], bool] | None


class SequenceKey(NamedTuple):
    """The place of an item in a tuple, a list or a deque."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, container: Any) -> Any:
        """Return the item of `container` there."""
        return container[self.idx]


class MappingKey(NamedTuple):
    """The key of an item in a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, container: Any) -> Any:
        """Return the item of `container` there."""
        return container[self.key]


class GetAttrKey(NamedTuple):
    """The name of an item of a named tuple or a dataclass."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, container: object) -> Any:
        """Return the item of `container` there."""
        return getattr(container, self.name)


KeyEntry: TypeAlias = Any
"""`SequenceKey`, `MappingKey`, `GetAttrKey` or what a registered type gives; it has `get`."""

KeyPath: TypeAlias = tuple[KeyEntry, ...]

Keyed: TypeAlias = Callable[[Any], tuple[Iterable[tuple[KeyEntry, Any]], Any]]

_keyed: Final[dict[type, Keyed]] = {}
"""Of registered types: what gives their items with keys, and their context."""


def set_keys(kind: type, keyed: Keyed) -> None:
    """Set what gives the items of a registered type with their keys, and its context."""
    _keyed[kind] = keyed


def _keys(tree: object, items: Iterable[object]) -> list[KeyEntry]:
    """Return a key for every item of a container."""
    kind = type(tree)
    if kind in _keyed:
        return [key for key, _ in _keyed[kind](tree)[0]]
    if isinstance(tree, dict):
        return [MappingKey(key) for key in tree]
    if isinstance(tree, tuple) and hasattr(kind, "_fields"):
        return [GetAttrKey(name) for name in kind._fields]
    if kind in pytree.SEQUENCES:
        return [SequenceKey(place) for place, _ in enumerate(items)]
    raise ValueError(
        f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a flatten_with_keys_fn "
        "argument to register_pytree_node."
    )


def tree_leaves_with_path(tree: object, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """Return the leaves of `tree`, each with the keys on the way to it.

    Parameters
    ----------
    tree
        Containers in containers.
    is_leaf
        Says which containers are leaves.

    Raises
    ------
    ValueError
        For a registered type that gives no keys.
    """
    found: list[tuple[KeyPath, Any]] = []
    _collect(tree, (), is_leaf, found)
    return found


def _collect(
    tree: object, path: KeyPath, is_leaf: IsLeaf, found: list[tuple[KeyPath, object]]
) -> None:
    inner = None if is_leaf is not None and is_leaf(tree) else pytree.children_of(tree)
    if inner is None:
        found.append((path, tree))
        return
    items = list(inner[0])
    for key, item in zip(_keys(tree, items), items, strict=True):
        _collect(item, (*path, key), is_leaf, found)


def tree_flatten_with_path(
    tree: object, is_leaf: IsLeaf = None
) -> tuple[list[tuple[KeyPath, Any]], pytree.Structure]:
    """Return the leaves of `tree` with the keys on the way to them, and its structure."""
    return tree_leaves_with_path(tree, is_leaf), pytree.flatten(tree, is_leaf)[1]


def tree_map_with_path(
    func: Callable[..., object], tree: object, *rests: Any, is_leaf: IsLeaf = None
) -> Any:
    """Return `tree` with every leaf replaced by what `func` makes of its path and of it.

    Parameters
    ----------
    func
        Takes the path, the leaf, and what is at its place in each of `rests`.
    tree, *rests
        Trees of one structure.
    is_leaf
        Says which containers are leaves.

    Raises
    ------
    ValueError
        If the structure of one of `rests` is another.
    """
    leaves, structure = tree_flatten_with_path(tree, is_leaf)
    others = [pytree.leaves_along(structure, rest) for rest in rests]
    return pytree.unflatten(
        structure,
        [func(path, leaf, *more) for (path, leaf), *more in zip(leaves, *others, strict=True)],
    )


def keystr(kp: KeyPath) -> str:
    """Return a path as it is written in a program: ``"['layers'][0].weight"``."""
    return "".join([str(key) for key in kp])


def key_get(obj: object, kp: KeyPath) -> Any:
    """Return what `obj` has at the end of a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """Return the leaves of the arguments of a call: of those by position, then of those by name."""
    return pytree.flatten((args, kwargs))[0]
