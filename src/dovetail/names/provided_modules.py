"""Modules under ``dovetail`` that plugins provide, such as ``dovetail.distributed``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from os import path
from types import ModuleType
from typing import Final

from dovetail_kernel import plugin_manager

_GROUP: Final = "dovetail.modules"
_HERE: Final = __name__.partition(".")[0]
_STANDING_IN: Final = ("distributed",)
"""Modules that are here as well, for where no plugin provides them."""


def provides(name: str) -> bool:
    """Return whether a plugin provides the module `name`; imports nothing."""
    return not name.startswith("_") and plugin_manager.provides(_GROUP, name)


def give_place(module: str) -> None:
    """Let the module of a plugin that provides the name of a module of ours take its place: call
    this at its end.
    """
    name = module.partition(".")[2]
    if provides(name):
        sys.modules[module] = _finder.load(name)


def provided(name: str) -> ModuleType | None:
    """Return the module `name` that a plugin provides, or None if none does."""
    return import_module(f"{_HERE}.{name}") if provides(name) else None


class _ProvidedModules:
    """Finds ``dovetail.x`` where a plugin has it, and ``dovetail.x.y`` inside of that, or else
    inside of our own ``dovetail.x``.

    Both names then mean one module, so that what is imported by either is the same. The classes
    of `importlib.abc` are no bases: they would import `pathlib` and `tempfile`.

    It is asked last, for what Python does not find, until the first module of a plugin is there:
    Python would find the modules within that one, and import them a second time.
    """

    def __init__(self) -> None:
        self._targets: dict[str, str] = {}

    def find_spec(
        self, fullname: str, places: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root, _, inner = fullname.partition(".")
        if root != _HERE or not inner:
            return None
        name, _, within = inner.partition(".")
        if self._has(name, within) if within else self._is_found(fullname, name, places):
            # The type asks for the base class, the import system only for the two methods below.
            return ModuleSpec(fullname, self, is_package=True)  # type: ignore[arg-type]
        if within and name in self._targets and name in _STANDING_IN:
            return PathFinder.find_spec(fullname, [_folder_here(fullname.rpartition(".")[0])])
        return None

    def _has(self, name: str, within: str) -> bool:
        """Return whether a plugin's module that was imported has another one within."""
        if name not in self._targets:
            return False
        try:
            return find_spec(f"{self._targets[name]}.{within}") is not None
        except ModuleNotFoundError:  # a module between is not the plugin's
            return False

    def _is_found(self, fullname: str, name: str, places: Sequence[str] | None) -> bool:
        if name in self._targets:
            return True
        return provides(name) and PathFinder.find_spec(fullname, places) is None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        name, _, inner = module.__name__.partition(".")[2].partition(".")
        real = import_module(f"{self._targets[name]}.{inner}") if inner else self.load(name)
        sys.modules[module.__name__] = real

    def load(self, name: str) -> ModuleType:
        """Return the module that a plugin has for ``dovetail.name``."""
        real = plugin_manager.load_module(name)
        self._targets[name] = real.__name__
        if sys.meta_path[0] is not self:
            sys.meta_path.remove(self)
            sys.meta_path.insert(0, self)
        return real


def _folder_here(module: str) -> str:
    """Return the folder of a package of ours, also where a plugin provides one of its name."""
    return path.join(path.dirname(path.dirname(__file__)), *module.split(".")[1:])


_finder: Final = _ProvidedModules()
sys.meta_path.append(_finder)
