"""The names of nodes, and of what they call."""

from __future__ import annotations

import builtins
import operator
import re
import sys
from collections.abc import Callable
from keyword import iskeyword
from types import BuiltinFunctionType, BuiltinMethodType
from typing import Any, Final

from dovetail_kernel import Device

from ..overrides import resolve_name

_ROOT: Final = "dovetail"
_NUMBERED: Final = re.compile(r"(.*)_(\d+)$")
_NO_NAME: Final = re.compile("[^0-9a-zA-Z_]+")
_WORD: Final = re.compile("([a-z0-9])([A-Z])")

GLOBALS: Final[dict[str, tuple[str, Any]]] = {
    "inf": ("from math import inf", float("inf")),
    "nan": ("from math import nan", float("nan")),
    "NoneType": ("NoneType = type(None)", type(None)),
    "device": ("from dovetail import device", Device),
    "dovetail": ("import dovetail", None),
    "pytree": ("import dovetail.utils._pytree as pytree", None),
}
"""What the source of every graph may name: the line that imports it, and its value if that is no
module.
"""


class Namespace:
    """Gives names that are not taken yet."""

    def __init__(self) -> None:
        self._names: dict[str, Any] = {}
        self._counts: dict[str, int] = {}
        self._given: dict[int, str] = {}
        self._held: list[Any] = []

    def create_name(self, candidate: str, obj: object) -> str:
        """Return a name for `obj`, the same if it has one, else `candidate` or, where that is taken
        or means something in Python, with a number behind it.
        """
        if obj is not None and id(obj) in self._given:
            return self._given[id(obj)]
        candidate = _NO_NAME.sub("_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        numbered = _NUMBERED.match(candidate)
        base = candidate if numbered is None else numbered[1]
        number = self._counts.get(base, 0) if numbered is None else int(numbered[2])
        name = candidate
        while name in self._names or _means_something(name, obj):
            number += 1
            name = f"{base}_{number}"
        self._names[name] = obj
        self._counts[base] = number
        if obj is not None:
            self.associate(name, obj)
        return name

    def associate(self, name: str, obj: object) -> None:
        """Let `name` be that of `obj`."""
        self._given[id(obj)] = name
        self._held.append(obj)  # or another object may get its id


def _means_something(name: str, obj: object) -> bool:
    if iskeyword(name):
        return True
    if hasattr(builtins, name):
        return getattr(builtins, name) is not obj
    return name in GLOBALS and (obj is None or GLOBALS[name][1] is not obj)


def name_of_target(target: object) -> str:
    """Return the name of a node that calls `target`, a function or the name of something."""
    if callable(target):
        name = _published_name(target)
    else:
        name = str(target).removeprefix("*").removeprefix("*")
        if name != str(target):
            return f"_{name}"
    if name.startswith("__") and name.endswith("__"):
        name = name[2:-2]
    name = name.replace(".", "_")
    return _WORD.sub(r"\1_\2", name).lower() if callable(target) else name


def _published_name(function: Callable[..., object]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def qualified_name(function: Callable[..., object]) -> str:
    """Return where a function is, as an import would name it: ``'dovetail.nn.functional.relu'``.

    Raises
    ------
    RuntimeError
        If no module has it.
    """
    name: str = getattr(function, "__name__", "")
    if getattr(builtins, name, None) is function:
        return name
    if getattr(operator, name, None) is function:
        return f"operator.{name}"
    if isinstance(function, (BuiltinFunctionType, BuiltinMethodType)) and function.__module__:
        return f"{function.__module__}.{name}"
    if name == "<lambda>":
        return f"{function.__module__}.{name}"
    if (public := _public_name(function)) is not None:
        return public
    module = getattr(function, "__module__", None)
    if module is None:
        raise RuntimeError(
            f"{function!r} has no __module__: the source of a graph cannot import it. Call a "
            "function of a module"
        )
    return f"{module}.{getattr(function, '__qualname__', name)}"


def is_of_dovetail(name: str) -> bool:
    """Tell whether a qualified name is one of the library's."""
    return name.startswith(f"{_ROOT}.")


def _public_name(found: object) -> str | None:
    """Return the name that users have for a function or class of the library."""
    name = getattr(found, "__name__", "")
    root = sys.modules[_ROOT]
    if callable(found) and not isinstance(found, type) and (known := resolve_name(found)):
        return known
    if getattr(root, name, None) is found:
        return f"{_ROOT}.{name}"
    return None


def type_text(annotation: object) -> str:
    """Return an annotation as one writes it: ``'dovetail.Tensor'``, ``'int'``."""
    if isinstance(annotation, type) and not hasattr(annotation, "__origin__"):
        if annotation.__module__ == "builtins":
            return annotation.__qualname__
        return qualified_name(annotation)
    if annotation is ...:
        return "..."
    return str(annotation).replace("NoneType", "None")
