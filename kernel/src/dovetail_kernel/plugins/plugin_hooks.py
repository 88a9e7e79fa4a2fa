"""Imports plugins, checks the hooks that they implement, and calls them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any, Final

import pluggy

from ..errors import PluginError, did_you_mean
from . import hookspecs
from .entries import PluginEntry

_MARK: Final = f"{hookspecs.PROJECT}_impl"
"""The attribute that `hookimpl` gives to functions."""


class _Pluggy(pluggy.PluginManager):
    """Pluggy, made quick at modules with a thousand functions, of which few are hooks."""

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        """Return the options of a hook, None for anything else."""
        if isinstance(plugin, ModuleType) and _MARK not in getattr(
            vars(plugin).get(name), "__dict__", ()
        ):
            return None
        return super().parse_hookimpl_opts(plugin, name)


class PluginHooks:
    """The hooks of the plugins that were imported."""

    def __init__(self) -> None:
        self._pluggy = _Pluggy(hookspecs.PROJECT)
        self._pluggy.add_hookspecs(hookspecs)

    def implemented_by(self, entry: PluginEntry, hook: str) -> Any:
        """Import the plugin object of `entry`, and register it with pluggy, which checks its hooks.
        Raises PluginError if it does not implement `hook`, or marks a function that is not a hook.
        """
        target = imported(entry)
        plugin = target() if isinstance(target, type) else target
        implemented = self._hooks_of(plugin)
        if hook not in implemented:
            raise PluginError(
                f"{entry.target!r} has no hook {hook!r}; add a function of that name, marked "
                "@hookimpl"
            )
        if not self._pluggy.is_registered(plugin):
            try:
                self._pluggy.register(plugin)
            except BaseException:  # its name is noted before its hooks
                if self._pluggy.is_registered(plugin):
                    self._pluggy.unregister(plugin)
                raise
        return plugin

    def _hooks_of(self, plugin: object) -> set[str]:
        specified = [name for name in vars(hookspecs) if name.startswith("dovetail_")]
        options = {name: self._pluggy.parse_hookimpl_opts(plugin, name) for name in dir(plugin)}
        implemented = {
            each.get("specname") or name for name, each in options.items() if each is not None
        }
        for name in sorted(implemented.difference(specified)):
            raise PluginError(
                f"{name!r} is not a hook of Dovetail.{did_you_mean(name, specified)} "
                f"The hooks are {', '.join(specified)}; rename the function"
            )
        return implemented

    def call(self, plugin: object, hook: str, **arguments: Any) -> Any:
        """Call a hook of one plugin, and return what it returns."""
        others = [each for each in self._pluggy.get_plugins() if each is not plugin]
        return self._pluggy.subset_hook_caller(hook, others)(**arguments)


def imported(entry: PluginEntry) -> Any:
    """Return what the target of `entry` names."""
    module, _, attribute = entry.target.partition(":")
    target: Any = import_module(module)
    for name in filter(None, attribute.split(".")):
        target = getattr(target, name)
    return target
