"""Overlays: plugins whose kernels stand over those of a backend while they are in use."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any, Final

from ..errors import PluginError
from ..fork_locks import renewed_after_fork
from ..user_warning import warn_user
from .entries import requested_overlays

_DEPRECATED: Final = (
    "will not work in the next release. Import a module that registers the kernels with "
    "conditions: Library.impl(op, kernel, key, when=predicate, why=words)."
)


class Overlay:
    """An overlay in use, as `use_overlay` returns it.

    The kernels are in force for the whole process, until `remove` or the end of a ``with`` block
    that put them in force.

    Attributes
    ----------
    name
        That of its entry point.
    plugin
        What the entry point loads.
    """

    def __init__(self, overlays: Overlays, name: str, plugin: Any, *, is_new: bool) -> None:
        self._overlays = overlays
        self._is_new = is_new
        self.name = name
        self.plugin = plugin

    def __repr__(self) -> str:
        state = "in use" if self.name in self._overlays.names else "removed"
        return f"<overlay {self.name!r}, {state}>"

    def remove(self) -> None:
        """Take the kernels out: calls run those beneath again. A second time does nothing."""
        self._overlays.remove(self.name)

    def __enter__(self) -> Overlay:
        return self

    def __exit__(self, *_: object) -> None:
        """Take the kernels out, unless they were in force before."""
        if self._is_new:
            self.remove()


class Overlays:
    """The overlays in use, in the order in which they came: each stands over those before.

    Parameters
    ----------
    load
        Loads the plugin of an overlay, which registers its kernels.
    unload
        Takes back what it has registered, so that it may be loaded again.
    """

    def __init__(self, load: Callable[[str], Any], unload: Callable[[str], None]) -> None:
        self._load = load
        self._unload = unload
        self._lock = renewed_after_fork(RLock())
        self.names: list[str] = []

    def use(self, name: str) -> Overlay:
        """Put the kernels of an overlay in force for the whole process, over those of its backend;
        installing a plugin alone changes nothing.

        Deprecated: a library registers kernels with conditions (`Library.impl` with `when` and
        `why`) in a module that programs import.

        Returns
        -------
        Overlay
            To be removed, or used as a context manager that removes it at its end.

        Raises
        ------
        PluginNotFoundError
            If nothing installed provides it.
        PluginError
            If it is blocked, claimed twice, or fails to load.
        """
        warn_user(f"use_overlay({name!r}) {_DEPRECATED}", FutureWarning)
        return self._use(name)

    def _use(self, name: str) -> Overlay:
        with self._lock:
            is_new = name not in self.names
            plugin = self._load(name)
            if is_new:
                self.names.append(name)
        return Overlay(self, name, plugin, is_new=is_new)

    def remove(self, name: str) -> None:
        """Take an overlay out. Those above, which hand calls on to its kernels, are loaded anew."""
        with self._lock:
            if name not in self.names:
                return
            place = self.names.index(name)
            above = self.names[place + 1 :]
            while len(self.names) > place:
                self._unload(self.names[-1])
                self.names.pop()
            for each in above:
                self._use(each)

    def use_requested(self) -> None:
        """Use the overlays named in ``DOVETAIL_OVERLAYS``; one that cannot be had is a warning:
        calls work without.
        """
        for name in requested_overlays():
            warn_user(f"DOVETAIL_OVERLAYS={name} {_DEPRECATED}", FutureWarning)
            try:
                self._use(name)
            except PluginError as error:
                warn_user(f"DOVETAIL_OVERLAYS: {error}", RuntimeWarning)


__all__ = ["Overlay", "Overlays"]
