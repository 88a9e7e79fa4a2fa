"""Names of a package that most programs do without: their modules are imported when asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from .public_places import publish_loaded

__all__ = ["names_on_demand"]


def names_on_demand(package: str, modules: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package that imports some names when they are asked for.

    Parameters
    ----------
    package
        Its ``__name__``.
    modules
        The names by the module that has them, relative to the package: ``{"traces.spans":
        ("Span",)}``. Type checkers read them under ``TYPE_CHECKING``.
    """
    places = {name: module for module, names in modules.items() for name in names}

    def found(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f".{places[name]}", package), name)
        setattr(sys.modules[package], name, value)
        publish_loaded()
        return value

    return found
