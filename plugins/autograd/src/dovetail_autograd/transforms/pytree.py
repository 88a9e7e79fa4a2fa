"""Nested containers as a flat list of leaves and a structure: tuples, lists, dicts, deques, named
tuples and registered types are containers.

Everything else is a leaf, None included.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from dovetail_kernel import Size

Flatten: TypeAlias = Callable[[Any], tuple[Iterable[Any], Any]]
"""Gives the items of a container, and what else is needed to make one like it: its context."""

Unflatten: TypeAlias = Callable[[Any, Any], Any]
"""Makes a container of a list of items and a context."""

IsLeaf: TypeAlias = Callable[[Any], bool] | None


@dataclass(frozen=True, slots=True)
class Structure:
    """Describes nested containers without their leaves.

    Attributes
    ----------
    kind
        The type of the container; None for a leaf.
    context
        What its type needs besides items: the keys of a dict, in its order.
    children
        The structures of the items.
    """

    kind: type | None = None
    context: Any = None
    children: tuple[Structure, ...] = ()

    @property
    def leaf_count(self) -> int:
        """The number of leaves."""
        if self.kind is None:
            return 1
        return sum([1 if each.kind is None else each.leaf_count for each in self.children])

    @property
    def num_leaves(self) -> int:
        """As in PyTorch's TreeSpec: `leaf_count`."""
        return self.leaf_count

    @property
    def num_nodes(self) -> int:
        """The number of containers and leaves."""
        return 1 + sum([child.num_nodes for child in self.children])

    @property
    def num_children(self) -> int:
        """The number of items."""
        return len(self.children)

    @property
    def type(self) -> Any:
        """As in PyTorch's TreeSpec: `kind`."""
        return self.kind

    def child(self, index: int) -> Structure:
        """Return the structure of an item."""
        return self.children[index]

    def is_leaf(self) -> bool:
        """Return whether this is the structure of a leaf."""
        return self.kind is None

    def __repr__(self) -> str:
        if self.kind is None:
            return "*"
        items = [repr(child) for child in self.children]
        if issubclass(self.kind, dict):
            pairs = zip(keys_of(self), items, strict=True)
            return "{" + ", ".join([f"{key!r}: {item}" for key, item in pairs]) + "}"
        if self.kind is list:
            return f"[{', '.join(items)}]"
        name = "" if self.kind is tuple else self.kind.__name__
        return f"{name}({', '.join(items)}{',' if len(items) == 1 and not name else ''})"


LEAF: Final = Structure()


class Container(NamedTuple):
    """How values of one type are taken apart and made."""

    flatten_fn: Flatten
    unflatten_fn: Unflatten


_containers: Final[dict[type, Container]] = {
    tuple: Container(lambda tree: (tree, None), lambda items, context: tuple(items)),
    list: Container(lambda tree: (tree, None), lambda items, context: items),
    Size: Container(lambda tree: (tree, None), lambda items, context: tuple(items)),
    dict: Container(
        lambda tree: (tree.values(), tuple(tree)),
        lambda items, keys: dict(zip(keys, items, strict=True)),
    ),
    OrderedDict: Container(
        lambda tree: (tree.values(), tuple(tree)),
        lambda items, keys: OrderedDict(zip(keys, items, strict=True)),
    ),
    defaultdict: Container(
        lambda tree: (tree.values(), (tree.default_factory, tuple(tree))),
        lambda items, context: defaultdict(context[0], zip(context[1], items, strict=True)),
    ),
    deque: Container(
        lambda tree: (tree, tree.maxlen), lambda items, length: deque(items, maxlen=length)
    ),
}


SEQUENCES: Final = (tuple, list, deque, Size)
"""The containers whose items are numbered."""


def register_container(kind: type, flatten: Flatten, unflatten: Unflatten) -> None:
    """Make values of a type containers.

    Parameters
    ----------
    kind
        The type; its subclasses stay leaves.
    flatten
        Gives the items of a value and a context, which is compared and hashed.
    unflatten
        Makes a value of a list of items and a context.

    Raises
    ------
    ValueError
        If the type is a container already.
    """
    if kind in _containers:
        raise ValueError(f"{kind} is already registered as pytree node. Register a type once.")
    _containers[kind] = Container(flatten, unflatten)


def registered_types() -> tuple[type, ...]:
    """Return the types whose values are containers; every class of named tuples is one, too."""
    return tuple(_containers)


def container_of(kind: type) -> Container | None:
    """Return how values of a type are taken apart and made, or None for the type of a leaf."""
    found = _containers.get(kind)
    if found is None and issubclass(kind, tuple) and hasattr(kind, "_fields"):
        make: Callable[[list[Any]], Any] = kind._make  # type: ignore[attr-defined]  # named tuple
        return Container(lambda tree: (tree, None), lambda items, context: make(items))
    return found


def keys_of(structure: Structure) -> tuple[Any, ...]:
    """Return the keys of a dict of this structure."""
    keys: tuple[Any, ...] = (
        structure.context[1] if structure.kind is defaultdict else structure.context
    )
    return keys


def children_of(tree: object) -> tuple[Iterable[Any], Any] | None:
    """Return the items and the context of a container, or None for a leaf."""
    container = container_of(type(tree))
    return None if container is None else container.flatten_fn(tree)


def flatten(tree: object, is_leaf: IsLeaf = None) -> tuple[list[Any], Structure]:
    """Return the leaves of `tree`, in order, and its structure.

    Parameters
    ----------
    tree
        Containers in containers.
    is_leaf
        Says of which containers that they are leaves. Default: of none.
    """
    kind = type(tree)
    if kind not in _containers and not issubclass(kind, tuple):
        return [tree], LEAF
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree: Any, leaves: list[object], is_leaf: IsLeaf) -> Structure:
    kind = type(tree)
    container = _containers.get(kind) or container_of(kind)
    if (is_leaf is not None and is_leaf(tree)) or container is None:
        leaves.append(tree)
        return LEAF
    items, context = container.flatten_fn(tree)
    children = []
    for item in items:
        # Most items are leaves, and known as such without a call.
        if is_leaf is None and type(item) not in _containers and not isinstance(item, tuple):
            leaves.append(item)
            children.append(LEAF)
        else:
            children.append(_flatten(item, leaves, is_leaf))
    return Structure(kind, context, tuple(children))


def unflatten(structure: Structure, leaves: Iterable[object]) -> Any:
    """Return the tree of this structure with these leaves."""
    if structure.kind is None:
        return next(iter(leaves))
    return _unflatten(structure, iter(leaves))


def _unflatten(structure: Structure, leaves: Any) -> Any:
    kind = structure.kind
    if kind is None:
        return next(leaves)
    items = [
        next(leaves) if child.kind is None else _unflatten(child, leaves)
        for child in structure.children
    ]
    container = _containers.get(kind) or container_of(kind)
    assert container is not None  # as when the value was taken apart
    return container.unflatten_fn(items, structure.context)


def map_leaves(function: Callable[..., object], tree: object) -> Any:
    """Return `tree` with `function` applied to every leaf."""
    leaves, structure = flatten(tree)
    return unflatten(structure, [function(leaf) for leaf in leaves])


def flatten_prefix(prefix: object, structure: Structure) -> list[Any] | None:
    """Return one value per leaf of `structure`: a leaf of `prefix` stands for everything below its
    place.

    Returns None if `prefix` is not the beginning of such a tree: it has other containers, or goes
    deeper.
    """
    kind = type(prefix)
    if kind not in _containers and not issubclass(kind, tuple):
        return [prefix] * structure.leaf_count
    values: list[Any] = []
    return values if _spread(prefix, structure, values) else None


def _spread(prefix: Any, structure: Structure, values: list[object]) -> bool:
    if children_of(prefix) is None:
        values.extend([prefix] * structure.leaf_count)
        return True
    items = items_like(prefix, structure)
    return items is not None and all(
        [
            _spread(item, child, values)
            for item, child in zip(items, structure.children, strict=True)
        ]
    )


def items_like(tree: object, structure: Structure) -> list[Any] | None:
    """Return the items of a container in the order of `structure`; None if it has another type,
    other keys or another number of items.
    """
    found = children_of(tree)
    if found is None or type(tree) is not structure.kind:
        return None
    if isinstance(tree, dict):
        keys = keys_of(structure)
        return [tree[key] for key in keys] if set(tree) == set(keys) else None
    items = list(found[0])
    return items if len(items) == len(structure.children) else None


def leaves_along(structure: Structure, tree: object) -> list[Any]:
    """Return what `tree` has in the places of the leaves of `structure`; below them it may go
    deeper. Raises ValueError if its structure is another.
    """
    if structure.kind is None:
        return [tree]
    items = items_like(tree, structure)
    if items is None:
        raise ValueError(
            f"Node type or arity mismatch; expected {structure}, but got {flatten(tree)[1]}. "
            "Pass trees of one structure."
        )
    return [
        leaf
        for child, item in zip(structure.children, items, strict=True)
        for leaf in leaves_along(child, item)
    ]
