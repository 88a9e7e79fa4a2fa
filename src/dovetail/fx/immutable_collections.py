"""Immutable lists and dicts, used as arguments of nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..utils._pytree import register_pytree_node

__all__ = ["immutable_dict", "immutable_list"]

_CHANGING_LIST = (
    *("append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"),
    *("__delitem__", "__iadd__", "__imul__", "__setitem__"),
)
_CHANGING_DICT = (
    *("clear", "pop", "popitem", "setdefault", "update"),
    *("__delitem__", "__ior__", "__setitem__"),
)


def _refusing(names: tuple[str, ...]) -> Callable[[type], type]:
    """Return a decorator that lets the methods `names` of a class raise TypeError."""

    def refuse(self: object, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__!r} object does not support mutation. If you are attempting to "
            "modify the kwargs or args of a dovetail.fx.Node object,\ninstead create a new copy of "
            "it and assign the copy to the node:\n\n    new_args = ...  # copy and mutate args\n"
            "    node.args = new_args\n"
        )

    def decorate(cls: type) -> type:
        for name in names:
            setattr(cls, name, refuse)
        return cls

    return decorate


@_refusing(_CHANGING_LIST)
class immutable_list(list):  # type: ignore[type-arg]
    """A list whose methods that would change it raise TypeError."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return immutable_list, (tuple(self),)


@_refusing(_CHANGING_DICT)
class immutable_dict(dict):  # type: ignore[type-arg]
    """A dict whose methods that would change it raise TypeError."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return immutable_dict, (tuple(self.items()),)


register_pytree_node(
    immutable_list, lambda found: (list(found), None), lambda values, _: immutable_list(values)
)
register_pytree_node(
    immutable_dict,
    lambda found: (list(found.values()), list(found)),
    lambda values, keys: immutable_dict(zip(keys, values, strict=True)),
)
