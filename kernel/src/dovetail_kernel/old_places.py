"""Modules of earlier versions that have moved: imports, and pickles that name them, find what they
had in its new place.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

from .user_warning import warn_user

__all__ = ["forward_old_places"]

MOVED: Final[dict[str, str]] = {}
FORWARDED: Final = {
    "garbage": "gc_pause",
    "forks": "fork_locks",
    "devices.by_size": "devices.lowering",
    "types.signature": "signature",
    "tensor.autograd_interface": "sockets",
}
"""The table of the kernel."""

_tables: Final[dict[str, str]] = {}
"""Packages, and the modules with the tables of what has moved in them."""


def forward_old_places(package: str, table: str) -> None:
    """Let imports of modules that have moved within a package find the new ones.

    Parameters
    ----------
    package
        Name of the package.
    table
        A module that is imported when one of the package is missing. It has ``MOVED``, new modules
        by old ones, both without the name of the package; and ``FORWARDED``, likewise of what
        only pickles name: no warning is due.
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
        table = import_module(_tables[package])
        new = table.MOVED.get(inner) or table.FORWARDED.get(inner)
        if new is None:
            return None
        forwarder: Any = _Forwarder(f"{package}.{new}", inner in table.MOVED)
        return ModuleSpec(fullname, forwarder, is_package=True)


class _Forwarder:
    """Makes a module that has the names of another one. It is a package without a folder, so that
    modules inside of it are looked for in the table, too, and none is imported twice.
    """

    def __init__(self, new: str, warns: bool) -> None:
        self._new = new
        self._warns = warns

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        if self._warns:
            warn_user(
                f"{module.__name__} has moved, and this name goes with the next minor release. "
                f"Import {self._new}, or take families of kernels from dovetail.backends.families.",
                DeprecationWarning,
            )
        new = import_module(self._new)
        names = {"__getattr__": partial(getattr, new), "__doc__": new.__doc__}
        if hasattr(new, "__all__"):
            names["__all__"] = new.__all__
        vars(module).update(names)
