"""Finds the methods and properties of the tensor class that do not look for overrides."""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType
from typing import Any, Final

from dovetail_kernel import defining_module

operator_modules: Final[set[str]] = set()
"""Names of the modules whose functions look for overrides themselves."""

_PRIVATE: Final = frozenset(
    {
        *("_backward_hooks", "_base", "_cdata", "_grad", "_is_view"),
        *("_post_accumulate_grad_hooks", "_version"),
    }
)
_NOT_INTERCEPTED: Final = frozenset(
    {
        *(
            "__class__",
            "__new__",
            "__init__",
            "__init_subclass__",
            "__hash__",
            "__getattribute__",
            "__setattr__",
        ),
        *(
            "__torch_function__",
            "__torch_dispatch__",
            "__iter__",
            "__reduce__",
            "__copy__",
            "__del__",
        ),
        *("as_subclass",),
    }
)

_interceptable: Final[dict[type, tuple[tuple[str, Any], ...]]] = {}


def interceptable(cls: type) -> tuple[tuple[str, Any], ...]:
    """Return the methods and properties of the plain tensor class `cls` that do not look for
    overrides themselves.
    """
    known = _interceptable.get(cls)
    if known is None:
        known = _interceptable[cls] = tuple(_find_interceptable(cls))
    return known


def _find_interceptable(cls: type) -> Iterator[tuple[str, Any]]:
    seen = set()
    for base in cls.__mro__:
        if base is object:
            continue
        for name, value in base.__dict__.items():
            if name in seen:
                continue
            seen.add(name)
            if name in _NOT_INTERCEPTED or (
                name[0] == "_" and not name.endswith("__") and name not in _PRIVATE
            ):
                continue
            is_function = isinstance(value, FunctionType)
            is_method = is_function and defining_module(value) not in operator_modules
            if is_method or isinstance(value, property):
                yield name, value


def accesses(attribute: property) -> dict[str, FunctionType]:
    """Return the functions of a property by the name of the method that calls them."""
    functions = {"__get__": attribute.fget, "__set__": attribute.fset, "__delete__": attribute.fdel}
    return {name: each for name, each in functions.items() if isinstance(each, FunctionType)}
