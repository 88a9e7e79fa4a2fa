"""Which thread loads which plugin, and how another one waits for that, where it can."""

from __future__ import annotations

import sys
from threading import Condition, RLock, get_ident
from types import FrameType

from .plugin_records import LoadedPlugin


class LoadingThreads:
    """Lets threads wait for plugins that others load, but never in a circle.

    Attributes
    ----------
    lock
        That of the plugin manager, which who waits lets go of.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        self._changed = Condition(self.lock)
        self._waiting: dict[int, LoadedPlugin] = {}
        self._loading: list[LoadedPlugin] = []

    def wait_for(self, plugin: LoadedPlugin) -> None:
        """Wait while another thread loads `plugin`; the lock is held.

        What would wait for this thread in turn is not waited for, but taken as far as it has come,
        as it is when a plugin that is being loaded asks for itself: a plugin that waits for one
        that this thread loads, or for a module whose body is running here.
        """
        me = get_ident()
        while plugin.state == "loading" and not self._waits_for(plugin, me):
            self._waiting[me] = plugin
            try:
                self._changed.wait()
            finally:
                del self._waiting[me]

    def begin(self, plugin: LoadedPlugin) -> None:
        """Note that this thread loads `plugin`; the lock is held."""
        plugin.state, plugin.loader = "loading", get_ident()
        self._loading.append(plugin)

    def end(self, plugin: LoadedPlugin) -> None:
        """Wake those that wait, because `plugin` is not being loaded any more."""
        with self.lock:
            if plugin.state == "loading":  # an interrupt came before it was
                plugin.state = "not loaded"
            self._loading[:] = [each for each in self._loading if each is not plugin]
            self._changed.notify_all()

    # -- as what a fork waits for ------------------------------------------------------------------

    def acquire(self, timeout: float) -> bool:
        """Take the lock while no other thread loads a plugin: it may be importing, and what it
        imports could not be imported in a child. Gives up waiting, without it, after `timeout`
        seconds.
        """
        if not self.lock.acquire(timeout=timeout):
            return False
        me = get_ident()
        self._changed.wait_for(lambda: all([each.loader == me for each in self._loading]), timeout)
        return True

    def release(self) -> None:
        """Let go of the lock."""
        self.lock.release()

    def _at_fork_reinit(self) -> None:
        self.lock._at_fork_reinit()  # type: ignore[attr-defined]

    def start_child(self) -> None:
        """Forget, in the child of a fork, what other threads were loading: it is loaded anew."""
        me = get_ident()
        for plugin in self._loading:
            if plugin.loader != me:
                plugin.state, plugin.result = "not loaded", None
        self._loading = [each for each in self._loading if each.loader == me]
        self._waiting.clear()

    def _waits_for(self, plugin: LoadedPlugin, thread: int) -> bool:
        wanted: LoadedPlugin | None = plugin
        while wanted is not None and wanted.state == "loading":
            if wanted.loader == thread or _is_running(wanted.entry.target.partition(":")[0]):
                return True
            wanted = self._waiting.get(wanted.loader)
        return False


def _is_running(module: str) -> bool:
    """Return whether the body of a module, or of a package that it is in, runs in this thread."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            name = frame.f_globals.get("__name__")
            if isinstance(name, str) and (module == name or module.startswith(f"{name}.")):
                return True
        frame = frame.f_back
    return False
