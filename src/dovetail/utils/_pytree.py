"""Nested containers, flattened, mapped and put together again, as ``torch.utils._pytree``.

Tuples, lists, dicts, deques, named tuples and registered types are containers; everything else is a
leaf, None included. `is_leaf`, where a function takes it, says of which containers that they are
leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import UnionType
from typing import Any, Final, TypeAlias

from dovetail_autograd.transforms import pytree

from ._builtin_containers import (
    _dict_flatten,  # noqa: F401 - these under their paths in PyTorch
    _dict_flatten_with_keys,  # noqa: F401
    _dict_unflatten,  # noqa: F401
    _list_flatten,  # noqa: F401
    _list_flatten_with_keys,  # noqa: F401
    _list_unflatten,  # noqa: F401
    _namedtuple_flatten,  # noqa: F401
    _namedtuple_unflatten,  # noqa: F401
    _tuple_flatten,  # noqa: F401
    _tuple_flatten_with_keys,  # noqa: F401
    _tuple_unflatten,  # noqa: F401
    is_structseq_class,
    is_structseq_instance,
)
from ._pytree_paths import (
    GetAttrKey,
    Keyed,
    KeyEntry,
    KeyPath,
    MappingKey,
    SequenceKey,
    arg_tree_leaves,
    key_get,
    keystr,
    set_keys,
    tree_flatten_with_path,
    tree_leaves_with_path,
    tree_map_with_path,
)

__all__ = [
    "SUPPORTED_NODES",
    "Context",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "MappingKey",
    "PyTree",
    "SequenceKey",
    "TreeSpec",
    "arg_tree_leaves",
    "is_constant_class",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "is_structseq_class",
    "is_structseq_instance",
    "key_get",
    "keystr",
    "map_only",
    "register_constant",
    "register_dataclass",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
]

PyTree: TypeAlias = Any
Context: TypeAlias = Any
TreeSpec: TypeAlias = pytree.Structure
PyTreeSpec: TypeAlias = pytree.Structure
tree_flatten = pytree.flatten
IsLeaf: TypeAlias = Callable[[Any], bool] | None
Types: TypeAlias = type | tuple[type, ...] | UnionType


class _SupportedNodes(Mapping[type, pytree.Container]):
    """What is a container, and how it is taken apart and made, by type; every class of named tuples
    is one.
    """

    def __getitem__(self, kind: type) -> pytree.Container:
        found = pytree.container_of(kind)
        if found is None:
            raise KeyError(kind)
        return found

    def __iter__(self) -> Iterator[type]:
        return iter(pytree.registered_types())

    def __len__(self) -> int:
        return len(pytree.registered_types())


SUPPORTED_NODES: Final = _SupportedNodes()
_get_node_type: Final = type
_broadcast_to_and_flatten = pytree.flatten_prefix


def LeafSpec() -> TreeSpec:
    """Return the structure of a leaf."""
    return pytree.LEAF


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[..., tuple[Iterable[object], object]],
    unflatten_fn: Callable[..., object],
    *,
    flatten_with_keys_fn: Keyed | None = None,
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
    flatten_with_keys_fn
        Gives pairs of a key and an item, and the context; paths need it.
    **options
        For writing structures to files, which is not supported; they are not used.

    Raises
    ------
    ValueError
        If the class is a container already.
    """
    pytree.register_container(cls, flatten_fn, unflatten_fn)
    if flatten_with_keys_fn is not None:
        set_keys(cls, flatten_with_keys_fn)


def register_dataclass(
    cls: type,
    *,
    field_names: Sequence[str] | None = None,
    drop_field_names: Sequence[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Make values of a dataclass containers of their fields.

    Parameters
    ----------
    cls
        The class.
    field_names
        The fields that are items; default: those that ``__init__`` takes. Required for a class that
        is not a dataclass.
    drop_field_names
        Fields that are left out: what is put together again has their defaults.
    serialized_type_name
        For writing structures to files, which is not supported; it is not used.

    Raises
    ------
    ValueError
        If the fields and those left out are not those of the class, or it is a container already.
    """
    dropped = tuple(drop_field_names or ())
    own = [each.name for each in vars(cls).get("__dataclass_fields__", {}).values() if each.init]
    if field_names is None and not own:
        raise ValueError(
            "field_names must be specified with a list of all fields used to initialize "
            f"{cls}, as it is not a dataclass. Give them."
        )
    names = [each for each in own if each not in dropped] if field_names is None else field_names
    if own and {*names, *dropped} != set(own):
        raise ValueError(
            f"{cls} has the fields {own}, but {[*names, *dropped]} were given. Name each in "
            "field_names or in drop_field_names."
        )
    fields = tuple(names)

    def keyed(value: object) -> tuple[list[tuple[Any, Any]], Any]:
        return [(GetAttrKey(name), getattr(value, name)) for name in fields], fields

    register_pytree_node(
        cls,
        lambda value: ([getattr(value, name) for name in fields], fields),
        lambda items, context: cls(**dict(zip(context, items, strict=True))),
        flatten_with_keys_fn=keyed,
    )


def register_constant(cls: Any) -> None:
    """Make values of a class containers without items: they are part of the structure.

    Raises
    ------
    TypeError
        If its values are not compared and hashed by what they are.
    """
    if cls.__eq__ is object.__eq__ or cls.__hash__ in (None, object.__hash__):
        raise TypeError(
            "register_constant(cls) expects `cls` to have a non-default `__eq__` and `__hash__` "
            f"implementation, but {cls} lacks one of them. Define both."
        )
    register_pytree_node(
        cls,
        lambda value: ([], value),
        lambda items, context: context,
        flatten_with_keys_fn=lambda value: ([], value),
    )
    _constants.add(cls)


_constants: set[type] = set()


def is_constant_class(cls: type) -> bool:
    """Return whether `register_constant` was called for a class."""
    return cls in _constants


def is_namedtuple_class(cls: type) -> bool:
    """Return whether a class is one of named tuples."""
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


def is_namedtuple_instance(obj: object) -> bool:
    """Return whether a value is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: object) -> bool:
    """Return whether a value is a named tuple, or a class of such."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


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
    func: Callable[..., object], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
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
    others = [pytree.leaves_along(structure, rest) for rest in rests]
    return pytree.unflatten(
        structure, [func(*values) for values in zip(leaves, *others, strict=True)]
    )


def tree_map_(
    func: Callable[..., object], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Call `func` with every leaf, as `tree_map` does, and return `tree` itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _is_one_of(chosen: Types | Callable[..., bool]) -> Callable[[Any], bool]:
    """Return whether values are instances of a type, of one of several, or fit a predicate."""
    if isinstance(chosen, type | tuple | UnionType):
        return lambda value: isinstance(value, chosen)
    return chosen


def map_only(
    type_or_types_or_pred: Types | Callable[..., bool], /
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Return a decorator of functions: what is not of a type (one of several), or does not fit a
    predicate, they return as it is.
    """
    chosen = _is_one_of(type_or_types_or_pred)

    def decorate(function: Callable[..., object]) -> Callable[[Any], Any]:
        return lambda value: function(value) if chosen(value) else value

    return decorate


def tree_map_only(
    type_or_types_or_pred: Types | Callable[..., bool],
    /,
    func: Callable[..., object],
    tree: PyTree,
    is_leaf: IsLeaf = None,
) -> PyTree:
    """Return `tree` with the leaves of a type (one of several; those that fit a predicate)
    replaced by what `func` makes of them.
    """
    chosen = _is_one_of(type_or_types_or_pred)
    return tree_map(lambda leaf: func(leaf) if chosen(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Types | Callable[..., bool],
    /,
    func: Callable[..., object],
    tree: PyTree,
    is_leaf: IsLeaf = None,
) -> PyTree:
    """Call `func` with the leaves that `tree_map_only` would replace, and return `tree` itself."""
    tree_map_only(type_or_types_or_pred, func, tree, is_leaf)
    return tree


def tree_all(pred: Callable[..., bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Return whether all leaves fit."""
    return all(map(pred, list(tree_iter(tree, is_leaf))))


def tree_any(pred: Callable[..., bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Return whether a leaf fits."""
    return any(map(pred, list(tree_iter(tree, is_leaf))))


def tree_all_only(
    type_or_types: Types, /, pred: Callable[..., bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Return whether all leaves of a type (one of several) fit."""
    leaves = tree_iter(tree, is_leaf)
    return all(map(pred, [leaf for leaf in leaves if isinstance(leaf, type_or_types)]))


def tree_any_only(
    type_or_types: Types, /, pred: Callable[..., bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Return whether a leaf of a type (one of several) fits."""
    leaves = tree_iter(tree, is_leaf)
    return any(map(pred, [leaf for leaf in leaves if isinstance(leaf, type_or_types)]))
