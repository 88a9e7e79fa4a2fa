"""Overlays, until the next release: plugins of kernels with conditions that a name switches on."""

from __future__ import annotations

from typing import Final

from ..errors import PluginError
from ..user_warning import warn_user
from .entries import requested_overlays
from .manager import PluginManager, plugin_manager

_DEPRECATED: Final = (
    "will not work in the next release. Import a module that registers the kernels with "
    "conditions: Library.impl(op, kernel, key, when=predicate, why=words)."
)


class Overlay:
    """The kernels of a plugin, in force for the whole process until `remove`, or until the end of a
    ``with`` block that put them in force.

    Parameters
    ----------
    name
        Name of the entry point.
    manager
        Manager that loaded it.
    plugin
        The object that the entry point loads.
    is_new
        Whether the kernels were not in force before.
    """

    def __init__(self, name: str, manager: PluginManager, plugin: object, *, is_new: bool) -> None:
        self.name = name
        self.plugin = plugin
        self._manager = manager
        self._is_new = is_new

    def remove(self) -> None:
        """Take the kernels out, if they are in force."""
        self._manager.unload_overlay(self.name)

    def __enter__(self) -> Overlay:
        return self

    def __exit__(self, *_: object) -> None:
        """Take the kernels out, unless they were in force before."""
        if self._is_new:
            self.remove()


def use_overlay(name: str, manager: PluginManager = plugin_manager) -> Overlay:
    """Put the kernels with conditions in force that a plugin registers under `name`.

    Deprecated: a library registers such kernels in a module that programs import.

    Raises
    ------
    PluginNotFoundError
        If no installed package provides it.
    PluginError
        If it is blocked, claimed twice, or fails to load.
    """
    warn_user(f"use_overlay({name!r}) {_DEPRECATED}", FutureWarning)
    plugin, is_new = manager.load_overlay(name)
    return Overlay(name, manager, plugin, is_new=is_new)


def use_requested_overlays(manager: PluginManager = plugin_manager) -> None:
    """Load the overlays named in ``DOVETAIL_OVERLAYS``. One that cannot be loaded is a warning:
    calls work without it.
    """
    for name in requested_overlays():
        warn_user(f"DOVETAIL_OVERLAYS={name} {_DEPRECATED}", FutureWarning)
        try:
            manager.load_overlay(name)
        except PluginError as error:
            warn_user(f"DOVETAIL_OVERLAYS: {error}", RuntimeWarning)
