"""Nested containers, flattened, mapped and put together again, as ``torch.utils._pytree``.

Tuples, lists, dicts, deques, named tuples and registered types are containers; everything else is a
leaf, None included. `is_leaf`, where a function takes it, says of which containers that they are
leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import UnionType
from typing import Any, TypeAlias

from dovetail_autograd.transforms import pytree

__all__ = [
    "PyTree",
    "TreeSpec",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_structure",
    "tree_unflatten",
]

PyTree: TypeAlias = Any
TreeSpec: TypeAlias = pytree.Structure
PyTreeSpec: TypeAlias = pytree.Structure
tree_flatten = pytree.flatten
IsLeaf: TypeAlias = Callable[[Any], bool] | None
Types: TypeAlias = type | tuple[type, ...] | UnionType


def LeafSpec() -> TreeSpec:
    """Return the structure of a leaf."""
    return pytree.LEAF


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_fn: Callable[[Any, Any], Any],
    **options: Any,
) -> None:
    """Make values of a class containers, here and in `dovetail.func`.

    Parameters
    ----------
    cls
        The class; its subclasses stay leaves.
    flatten_fn
        Gives the items of a value and its context, whatever else makes it.
    unflatten_fn
        Makes a value of a list of items and a context.
    **options
        For writing structures to files, which is not supported; they are not used.

    Raises
    ------
    ValueError
        If the class is a container already.
    """
    pytree.register_container(cls, flatten_fn, unflatten_fn)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """Return the tree with these leaves.

    Raises
    ------
    ValueError
        If their number is not that of the structure.
    """
    given = list(leaves)
    if len(given) != treespec.leaf_count:
        raise ValueError(
            f"tree_unflatten(leaves, treespec): `leaves` has length {len(given)} but the spec "
            f"refers to a pytree that holds {treespec.leaf_count} items ({treespec}). Pass as many."
        )
    return pytree.unflatten(treespec, given)


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Return whether `tree` is a leaf."""
    return (is_leaf is not None and is_leaf(tree)) or pytree.children_of(tree) is None


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """Return the leaves of `tree`."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """Yield the leaves of `tree`."""
    yield from tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """Return the structure of `tree`."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Return `tree` with every leaf replaced by what `func` makes of it.

    Parameters
    ----------
    func
        Takes a leaf, and what is at its place in each of `rests`.
    tree
        Containers in containers.
    *rests
        Trees of the structure of `tree`; below its leaves they may go deeper.
    is_leaf
        Says which containers are leaves.

    Raises
    ------
    ValueError
        If the structure of one of `rests` is another.
    """
    leaves, structure = tree_flatten(tree, is_leaf)
    others = [_leaves_along(structure, rest) for rest in rests]
    return pytree.unflatten(
        structure, [func(*values) for values in zip(leaves, *others, strict=True)]
    )


def _leaves_along(structure: TreeSpec, tree: PyTree) -> list[Any]:
    """Return what `tree` has in the places of the leaves of `structure`."""
    if structure.kind is None:
        return [tree]
    items = pytree.items_like(tree, structure)
    if items is None:
        raise ValueError(
            f"Node type or arity mismatch; expected {structure}, but got {tree_structure(tree)}. "
            "Pass trees of one structure."
        )
    return [
        leaf
        for child, item in zip(structure.children, items, strict=True)
        for leaf in _leaves_along(child, item)
    ]


def tree_map_(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Call `func` with every leaf, as `tree_map` does, and return `tree` itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _is_one_of(chosen: Types | Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return whether values are instances of a type, of one of several, or fit a predicate."""
    if isinstance(chosen, type | tuple | UnionType):
        return lambda value: isinstance(value, chosen)
    return chosen


def tree_map_only(
    type_or_types_or_pred: Types | Callable[[Any], bool],
    /,
    func: Callable[[Any], Any],
    tree: PyTree,
    is_leaf: IsLeaf = None,
) -> PyTree:
    """Return `tree` with the leaves of a type (one of several; those that fit a predicate)
    replaced by what `func` makes of them.
    """
    chosen = _is_one_of(type_or_types_or_pred)
    return tree_map(lambda leaf: func(leaf) if chosen(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Types | Callable[[Any], bool],
    /,
    func: Callable[[Any], Any],
    tree: PyTree,
    is_leaf: IsLeaf = None,
) -> PyTree:
    """Call `func` with the leaves that `tree_map_only` would replace, and return `tree` itself."""
    tree_map_only(type_or_types_or_pred, func, tree, is_leaf)
    return tree


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Return whether all leaves fit."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Return whether a leaf fits."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(
    type_or_types: Types, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Return whether all leaves of a type (one of several) fit."""
    leaves = tree_iter(tree, is_leaf)
    return all(pred(leaf) for leaf in leaves if isinstance(leaf, type_or_types))


def tree_any_only(
    type_or_types: Types, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Return whether a leaf of a type (one of several) fits."""
    leaves = tree_iter(tree, is_leaf)
    return any(pred(leaf) for leaf in leaves if isinstance(leaf, type_or_types))
