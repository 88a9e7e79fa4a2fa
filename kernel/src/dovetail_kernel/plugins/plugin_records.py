"""What is known of a plugin: to who asks for a list, and to the manager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .entries import PluginEntry
from .hookspecs import BackendSpec


class PluginRecord(NamedTuple):
    """One line of `PluginManager.list_plugins`.

    Attributes
    ----------
    distribution, version, group, name
        Origin and name of the plugin.
    state
        ``'available'``, ``'not loaded'``, ``'blocked'``, ``'failed: reason'`` or ``'unavailable:
        reason'``.
    kernels
        Number of registered kernels.
    traceback
        The traceback of the failure, if the plugin failed.
    """

    distribution: str
    version: str | None
    group: str
    name: str
    state: str
    kernels: int = 0
    traceback: str | None = None


class LoadedPlugin:
    """What became of an entry that was asked for."""

    __slots__ = ("entry", "error", "loader", "result", "spec", "state", "undo")

    def __init__(self, entry: PluginEntry) -> None:
        self.entry = entry
        self.state = "not loaded"
        self.loader = 0  # the thread that loads it, or was the last to
        self.error: BaseException | None = None
        self.result: Any = None
        self.spec: BackendSpec | None = None
        self.undo: Callable[[], None] | None = None  # takes back what it has registered
