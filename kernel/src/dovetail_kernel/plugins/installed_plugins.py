"""Finds what is installed: the entry that provides a name, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.util import find_spec

from ..errors import PluginError, PluginNotFoundError, did_you_mean
from .entries import (
    BACKENDS,
    GROUPS,
    KERNELS,
    KNOWN,
    LIBRARIES,
    PluginEntry,
    blocked,
    normalized,
    scan_entry_points,
)


class InstalledPlugins:
    """The entries of what is installed, scanned when they are first needed.

    Parameters
    ----------
    on_scan
        Called after a scan.
    """

    def __init__(self, on_scan: Callable[[], object]) -> None:
        self._on_scan = on_scan
        self._scanned: list[PluginEntry] | None = None

    def entries(self) -> list[PluginEntry]:
        """Return every entry."""
        if self._scanned is None:
            self._scanned = scan_entry_points()
            self._on_scan()
        return self._scanned

    def scanned_entries(self) -> list[PluginEntry]:
        """Return the entries found by the last scan; none before one."""
        return self._scanned or []

    def forget(self) -> None:
        """Scan anew when entries are needed next."""
        self._scanned = None

    def claims(self, group: str, name: str) -> list[PluginEntry]:
        """Return the entries that claim a name."""
        return [entry for entry in self.entries() if (entry.group, entry.name) == (group, name)]

    def candidates(self, group: str, name: str) -> list[PluginEntry]:
        """Return the entries that may be meant: Dovetail's own for its names, if installed, else
        all that claim it.
        """
        known = KNOWN.get((group, name))
        if known is not None and not blocked(known) and _is_importable(known):
            return [known]
        return self.claims(group, name)

    def find(self, group: str, name: str) -> PluginEntry:
        """Return the one entry that provides `name`. Raises PluginNotFoundError if nothing
        installed does, and PluginError if it is blocked, claimed twice, or has a name that cannot
        be.
        """
        candidates = self.candidates(group, name)
        admitted = [entry for entry in candidates if not blocked(entry)]
        if len(admitted) > 1:
            raise PluginError(_claimed_twice(admitted))
        if admitted:
            if (problem := _problem_of_name(admitted[0])) is not None:
                raise PluginError(problem)
            return admitted[0]
        known = KNOWN.get((group, name))
        refused = next(
            iter([each for each in (*candidates, known) if each is not None and blocked(each)]),
            None,
        )
        if refused is not None:
            raise PluginError(
                f"{refused} is blocked by DOVETAIL_BLOCK={blocked(refused)}; take that word out "
                "to use the plugin"
            )
        if known is not None:
            raise PluginNotFoundError(
                f"{GROUPS[group]} {name!r} is not installed. Install {known.distribution}, "
                "from the clone or the folder of wheels that the others came from"
            )
        installed = sorted({entry.name for entry in self.entries() if entry.group == group})
        raise PluginNotFoundError(
            f"no installed distribution provides a {GROUPS[group]} {name!r}; "
            f"installed: {', '.join(installed) or 'none'}.{did_you_mean(name, installed)} "
            f"Install the distribution that has it under the entry points {group!r}"
        )

    def problem_of(self, entry: PluginEntry) -> str | None:
        """Return why an entry that is not blocked would not be loaded, or None."""
        problem = _problem_of_name(entry)
        if problem is not None:
            return problem
        rivals = [each for each in self.candidates(entry.group, entry.name) if not blocked(each)]
        if len(rivals) == 1 and same_distribution(rivals[0], entry):
            return None
        return _claimed_twice(self.claims(entry.group, entry.name))


def _is_importable(entry: PluginEntry) -> bool:
    # Only the top-level package is looked for: finding a module inside a package would import the
    # package.
    return find_spec(entry.target.partition(".")[0]) is not None


def _problem_of_name(entry: PluginEntry) -> str | None:
    """Return what is wrong with the name of `entry`, or None."""
    if entry.group != KERNELS:
        return None
    namespace, dot, device_type = entry.name.partition(".")
    if not (namespace and dot and device_type) or "." in device_type:
        return (
            f"{entry} has a name that says neither for what nor where; "
            "name the entry point 'namespace.device_type'"
        )
    if (LIBRARIES, namespace) in KNOWN and (BACKENDS, device_type) in KNOWN:
        return (
            f"{entry} would replace Dovetail's own kernels by merely being installed; "
            "register them with conditions (when=, why=) in a module that programs import"
        )
    return None


def same_distribution(first: PluginEntry, second: PluginEntry) -> bool:
    """Return whether two entries come from one distribution, however its name is spelt."""
    return normalized(first.distribution) == normalized(second.distribution)


def _claimed_twice(entries: Iterable[PluginEntry]) -> str:
    """Say which distributions claim one name."""
    entries = sorted(entries, key=lambda entry: entry.distribution)
    claimants = [f"{entry.distribution} {entry.version or ''}".rstrip() for entry in entries]
    return (
        f"{GROUPS[entries[0].group]} {entries[0].name!r} is claimed by {' and '.join(claimants)}; "
        f"uninstall one, or keep one out with DOVETAIL_BLOCK={entries[-1].distribution}"
    )
