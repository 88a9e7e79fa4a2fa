"""The plugin manager: loads a plugin when the device or namespace that it stands for is first
asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import ModuleType
from typing import Any, Final

from ..devices.backends import Backend, backend, has_backend
from ..errors import PluginError, forget_distributions, printable
from ..fork_locks import call_in_child, held_over_fork
from ..gc_pause import collection_paused
from ..sockets import DEVICE_TYPES, KERNEL_TABLE, KernelTable, Socket
from .entries import BACKENDS, GROUPS, KERNELS, LIBRARIES, MODULES, TRANSFORMS, PluginEntry, blocked
from .hookspecs import BackendSpec
from .installed_plugins import InstalledPlugins, same_distribution
from .loading_threads import LoadingThreads
from .plugin_hooks import PluginHooks, imported
from .plugin_records import LoadedPlugin, PluginRecord

_loading: ContextVar[PluginEntry | None] = ContextVar("dovetail_loading_plugin", default=None)


class PluginManager:
    """Lists the installed plugins and loads them on demand, each at most once.

    Loading an unusable plugin raises `PluginError`, with the plugin's exception as its cause; it
    breaks nothing else, and loading it again raises again. All methods may be called from any
    thread, and by a plugin that is being loaded.

    Parameters
    ----------
    table
        The socket of the table that plugins register in. Default: that of the process.
    """

    def __init__(self, table: Socket[KernelTable] = KERNEL_TABLE) -> None:
        # Held for moments only, never while code of a plugin runs: that may import, which takes a
        # lock too, or wait for a thread that asks for plugins.
        self._loaders = LoadingThreads()
        self._lock = self._loaders.lock
        self._installed = InstalledPlugins(self._note_scan)
        self._has_new_scan = False
        self._plugins: dict[tuple[str, str], LoadedPlugin] = {}
        self._in_use: set[tuple[str, str]] = set()
        self._hooks = PluginHooks()
        self._table = table

    # -- asking for plugins ------------------------------------------------------------------------

    def load_backend(self, name: str) -> BackendSpec:
        """Load the backend of device type `name`, and return its description.

        Raises
        ------
        PluginNotFoundError
            If no installed package provides it.
        PluginError
            If it is blocked, unavailable on this machine, claimed twice, or fails to load.
        """
        spec: BackendSpec = self._load(BACKENDS, name)
        return spec

    def attached_backend(self, name: str) -> Backend:
        """Return the backend of device type `name`, loaded if necessary; see `load_backend`."""
        is_attached = has_backend(name) and backend(name).is_attached
        plugin = self._plugins.get((BACKENDS, name))
        # Its arrays come before its kernels: another thread may be about to register these.
        if not is_attached or (plugin and plugin.state == "loading"):
            self.load_backend(name)
        return backend(name)

    def describe_backend(self, name: str) -> BackendSpec:
        """Return the description of the backend of device type `name`: its plugin is imported, but
        not loaded.

        Raises
        ------
        PluginNotFoundError, PluginError
            As `load_backend`, except for an unavailable backend, which the description reports.
        """
        with self._lock:
            plugin = self._plugins.get((BACKENDS, name))
            entry = self._installed.find(BACKENDS, name) if plugin is None else plugin.entry
        if plugin is not None and plugin.spec is not None:
            return plugin.spec
        return self._describe(entry)

    def load_library(self, namespace: str) -> Any:
        """Load the operators of `namespace`, and return the plugin. Raises the errors of
        `load_backend`.
        """
        return self._load(LIBRARIES, namespace)

    def load_transform(self, name: str) -> Any:
        """Load a functionality, such as autograd; return its plugin. Raises as `load_backend`."""
        return self._load(TRANSFORMS, name)

    def load_module(self, name: str) -> ModuleType:
        """Import the module that a plugin provides under `name`, beside those of the front end.
        Raises the errors of `load_backend`.
        """
        module: ModuleType = self._load(MODULES, name)
        return module

    def load_kernels(self, namespace: str, device_type: str) -> bool:
        """Load the kernels that plugins provide for `namespace` on `device_type`.

        Returns
        -------
        bool
            True if new kernels were loaded, False if there are none or they were already loaded.

        Raises
        ------
        PluginError
            If such a plugin exists, but cannot be loaded.
        """
        name = f"{namespace}.{device_type}"
        with self._lock:
            if name not in [e.name for e in self._installed.entries() if e.group == KERNELS]:
                return False
            was_loaded = self._state(KERNELS, name) == "available"
        self._load(KERNELS, name)
        return not was_loaded

    def provides(self, group: str, name: str) -> bool:
        """Return whether an installed, unblocked plugin has `name` in `group`; imports nothing."""
        with self._lock:
            found = any([not blocked(entry) for entry in self._installed.candidates(group, name)])
        self._load_kernels_after_scan()
        return found

    def mark_in_use(self, group: str, name: str) -> None:
        """Mark a namespace or device type as used without a plugin, so that kernels for it can be
        loaded.
        """
        with self._lock:
            self._in_use.add((group, name))
        self._load_ready_kernels()

    def mark_unused(self, group: str, name: str) -> None:
        """Undo `mark_in_use`."""
        self._in_use.discard((group, name))

    def refresh(self) -> None:
        """Clear the cached plugins and failures, so that newly installed packages are found."""
        from importlib import invalidate_caches

        with self._lock:
            invalidate_caches()
            forget_distributions()
            self._installed.forget()
            self._plugins = {
                key: plugin for key, plugin in self._plugins.items() if plugin.state == "available"
            }

    # -- looking at plugins ------------------------------------------------------------------------

    def device_types(self) -> tuple[str, ...]:
        """Return the device types that installed backends provide, blocked ones included; imports
        nothing.
        """
        return self._names_in(BACKENDS)

    def namespaces(self) -> tuple[str, ...]:
        """Return the namespaces that installed libraries provide, blocked ones included; imports
        nothing.
        """
        return self._names_in(LIBRARIES)

    def _names_in(self, group: str) -> tuple[str, ...]:
        with self._lock:
            entries = self._installed.entries()
        self._load_kernels_after_scan()
        return tuple(dict.fromkeys(each.name for each in entries if each.group == group))

    def loading(self) -> PluginEntry | None:
        """Return the entry of the plugin that is being loaded in this task."""
        return _loading.get()

    def list_plugins(self) -> list[PluginRecord]:
        """Return a record of every installed plugin, ordered by group and name; imports nothing."""
        with self._lock:
            entries = sorted(
                self._installed.entries(),
                key=lambda entry: (list(GROUPS).index(entry.group), entry.name),
            )
            records = [self._record(entry) for entry in entries]
        self._load_kernels_after_scan()
        return records

    def _record(self, entry: PluginEntry) -> PluginRecord:
        plugin = self._plugins.get((entry.group, entry.name))
        state, trace = "not loaded", None
        if plugin is not None and same_distribution(plugin.entry, entry):
            state = plugin.state
            trace = None if plugin.error is None else _traceback_of(plugin.error)
        elif blocked(entry):
            state = "blocked"
        elif (problem := self._installed.problem_of(entry)) is not None:
            state = f"failed: {problem}"
        kernels = self._table.plug.count_kernels(entry) if state == "available" else 0
        return PluginRecord(
            entry.distribution, entry.version, entry.group, entry.name, state, kernels, trace
        )

    # -- loading -----------------------------------------------------------------------------------

    def _load(self, group: str, name: str) -> Any:
        key = (group, name)
        plugin = self._plugins.get(key)
        if plugin is not None and plugin.state == "available":
            return plugin.result
        is_mine = False
        try:
            with self._lock:
                plugin = self._plugins.get(key)
                if plugin is None:
                    plugin = LoadedPlugin(self._installed.find(group, name))
                    plugin = self._plugins.setdefault(key, plugin)
                self._loaders.wait_for(plugin)
                if plugin.state in ("loading", "available"):
                    return plugin.result  # of what this very thread is loading, as far as it is
                if plugin.error is None:
                    is_mine = True
                    self._loaders.begin(plugin)
            if is_mine:
                self._run(plugin)
        finally:
            if is_mine and plugin is not None:
                try:
                    self._loaders.end(plugin)
                except KeyboardInterrupt:
                    self._loaders.end(plugin)
                    raise
        if plugin.error is not None:
            raise PluginError(
                f"{plugin.entry} failed to load from {plugin.entry.target!r}: "
                f"{_reason(plugin.error)}. "
                "The cause is above; once it is repaired, call refresh() or start again"
            ) from plugin.error
        self._load_ready_kernels()
        return plugin.result

    def _run(self, plugin: LoadedPlugin) -> None:
        """Load `plugin`, leaving the failure, if it fails, in its record; being unavailable is
        raised, and not kept.
        """
        entry, unavailable = plugin.entry, None
        try:
            with (
                collection_paused(),
                _as_loading(entry),
                self._table.plug.transaction() as plugin.undo,
            ):
                if entry.group == BACKENDS:
                    unavailable = self._run_backend(plugin)
                elif entry.group == MODULES:
                    plugin.result = imported(entry)
                else:
                    plugin.result = self._hooks.implemented_by(entry, "dovetail_load")
                    arguments = {"group": entry.group, "name": entry.name}
                    self._hooks.call(plugin.result, "dovetail_load", **arguments)
        except (Exception, SystemExit) as error:
            plugin.error, plugin.result = error, None
            plugin.state = f"failed: {_reason(error)}"
        except BaseException:
            plugin.state, plugin.result = "not loaded", None
            if plugin.undo is not None:  # an interrupt came after the transaction
                plugin.undo()
            raise
        else:
            if unavailable is None:
                plugin.state = "available"
            else:
                plugin.state, plugin.result = f"unavailable: {unavailable}", None
                raise PluginError(f"{plugin.entry} is unavailable: {unavailable}")

    def _run_backend(self, plugin: LoadedPlugin) -> str | None:
        entry = plugin.entry
        spec = plugin.spec
        if spec is None:
            spec = plugin.spec = self._describe(entry)
        reason = spec.is_available()
        if reason is None:
            plugin.result = spec
            spec.load()
        return reason

    def _describe(self, entry: PluginEntry) -> BackendSpec:
        spec = self._hooks.call(
            self._hooks.implemented_by(entry, "dovetail_backend"), "dovetail_backend"
        )
        if not isinstance(spec, BackendSpec):
            raise PluginError(f"dovetail_backend() returned {spec!r}; return a BackendSpec")
        if spec.name != entry.name:
            raise PluginError(
                f"dovetail_backend() describes {spec.name!r}; give it the name of the entry "
                f"point, {entry.name!r}"
            )
        return spec

    # -- kernels for the namespace of another plugin -----------------------------------------------

    def _note_scan(self) -> None:
        self._has_new_scan = True

    def _load_kernels_after_scan(self) -> None:
        """Load kernels that a scan has shown to be ready, now that the lock is free."""
        if self._has_new_scan:
            self._load_ready_kernels()

    def _load_ready_kernels(self) -> None:
        """Load kernels whose library and backend are both in use. Failures wait in their records
        for `load_kernels`.
        """
        self._has_new_scan = False
        for name in list(self._ready_kernels()):
            with suppress(PluginError):
                self._load(KERNELS, name)

    def _ready_kernels(self) -> Iterator[str]:
        for entry in self._installed.scanned_entries():
            namespace, _, device_type = entry.name.partition(".")
            if (
                entry.group == KERNELS
                and self._state(KERNELS, entry.name) == "not loaded"
                and self._is_in_use(LIBRARIES, namespace)
                and self._is_in_use(BACKENDS, device_type)
                and not blocked(entry)
            ):
                yield entry.name

    def _is_in_use(self, group: str, name: str) -> bool:
        return (group, name) in self._in_use or self._state(group, name) == "available"

    def _state(self, group: str, name: str) -> str:
        plugin = self._plugins.get((group, name))
        return "not loaded" if plugin is None else plugin.state


@contextmanager
def _as_loading(entry: PluginEntry) -> Iterator[None]:
    previous = _loading.get()
    try:
        _loading.set(entry)
        yield
    finally:
        _loading.set(previous)


def _traceback_of(error: BaseException) -> str:
    from traceback import format_exception  # only listings of failures need it

    return "".join(format_exception(error))


def _reason(error: BaseException) -> str:
    return printable(f"{type(error).__name__}: {error}")


plugin_manager: Final = PluginManager()
"""The plugins of this process."""

held_over_fork(plugin_manager._loaders, level=4)
call_in_child(plugin_manager._loaders.start_child)

DEVICE_TYPES.add(plugin_manager.device_types)
