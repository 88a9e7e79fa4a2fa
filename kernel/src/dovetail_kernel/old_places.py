"""Modules that pickles name by the places of their time: what they defined is found in the public
modules that have it now.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

OLD_PLACES: Final = {"": "garbage forks tensor.autograd_interface"}
"""The table of the kernel."""

_tables: Final[dict[str, str]] = {}
"""Packages, and the modules with the tables of what has moved in them."""


def forward_old_places(package: str, table: str) -> None:
    """Let pickles find what a package defines in modules that have moved.

    Parameters
    ----------
    package
        Name of the package.
    table
        A module that is imported when one of the package is missing. It has ``OLD_PLACES``: by
        module that has the names now ("" is the package) the old modules, separated by spaces,
        all without the name of the package.
    """
    if not _tables:
        # Last: it is asked for modules that nothing else finds.
        sys.meta_path.append(_OldPlaces)
    _tables[package] = table


class _OldPlaces:
    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, inner = fullname.partition(".")
        if package not in _tables or fullname == _tables[package]:
            return None
        places: Mapping[str, str] = import_module(_tables[package]).OLD_PLACES
        for new, old in places.items():
            if inner in old.split():
                forwarder: Any = _Forwarder(f"{package}.{new}" if new else package)
                return ModuleSpec(fullname, forwarder, is_package=True)
        return None


class _Forwarder:
    """Makes a module that has the names of another one. It is a package without a folder, so that
    modules inside of it are looked for in the table, too, and none is imported twice.
    """

    def __init__(self, new: str) -> None:
        self._new = new

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        parent, _, name = module.__name__.rpartition(".")
        if name in vars(sys.modules[parent]):
            sys.modules[parent].__class__ = _KeepsItsNames
        new = import_module(self._new)
        vars(module).update({"__getattr__": partial(getattr, new), "__doc__": new.__doc__})


class _KeepsItsNames(ModuleType):
    """A module that has functions named as modules that were inside of it: the import of one of
    these, which sets it as an attribute, does not replace the function.
    """

    def __setattr__(self, name: str, value: object) -> None:
        loader = getattr(getattr(value, "__spec__", None), "loader", None)
        if not (name in vars(self) and isinstance(loader, _Forwarder)):
            super().__setattr__(name, value)
