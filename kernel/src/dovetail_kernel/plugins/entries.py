"""Lists the entry points of Dovetail's plugin groups, without importing any plugin."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from ..errors import name_of_distribution, printable
from ..user_warning import warn_user

if TYPE_CHECKING:
    from importlib.metadata import Distribution

BACKENDS: Final = "dovetail.backends"
LIBRARIES: Final = "dovetail.libraries"
KERNELS: Final = "dovetail.kernels"
TRANSFORMS: Final = "dovetail.transforms"
MODULES: Final = "dovetail.modules"

GROUPS: Final[Mapping[str, str]] = MappingProxyType(
    {
        BACKENDS: "backend for device type",
        LIBRARIES: "library for namespace",
        KERNELS: "kernels",
        TRANSFORMS: "transform",
        MODULES: "module",
    }
)
"""The entry point groups, and what to call their members in messages."""


class PluginEntry(NamedTuple):
    """An entry point: `name` of `group`, to be had from `target` (``module`` or
    ``module:attribute``).
    """

    group: str
    name: str
    target: str
    distribution: str
    version: str | None = None

    @property
    def is_our_own(self) -> bool:
        """Whether it is one of Dovetail's own plugins, whose tests check its kernels."""
        return self in KNOWN.values()

    def __str__(self) -> str:
        version = f" {self.version}" if self.version else ""
        return f"{GROUPS[self.group]} {self.name!r} of {self.distribution}{version}"


KNOWN: Final[Mapping[tuple[str, str], PluginEntry]] = MappingProxyType(
    {
        (entry.group, entry.name): entry
        for entry in (
            PluginEntry(BACKENDS, "cpu", "dovetail_cpu", "dovetail-cpu"),
            PluginEntry(BACKENDS, "cuda", "dovetail_cuda", "dovetail-cuda"),
            PluginEntry(BACKENDS, "meta", "dovetail_aten.meta.meta_backend", "dovetail-aten"),
            PluginEntry(LIBRARIES, "aten", "dovetail_aten", "dovetail-aten"),
            PluginEntry(TRANSFORMS, "autograd", "dovetail_autograd", "dovetail-autograd"),
            PluginEntry(TRANSFORMS, "native", "dovetail_native", "dovetail-native"),
            PluginEntry(MODULES, "distributed", "dovetail_mpi", "dovetail-mpi"),
            PluginEntry(MODULES, "testing", "dovetail_testing", "dovetail-testing"),
        )
    }
)
"""Dovetail's own plugins. They are found by name, because reading the metadata of everything
installed takes 25 ms.
"""


def scan_entry_points() -> list[PluginEntry]:
    """Return the entry points of all plugin groups, in the order of ``sys.path``.

    A distribution whose metadata cannot be read is left out, with a warning that names it.
    """
    from importlib.metadata import distributions

    found: list[PluginEntry] = []
    seen: set[str] = set()
    for distribution in distributions():
        name = printable(name_of_distribution(distribution))
        if (spelt := normalized(name)) in seen:
            continue
        seen.add(spelt)
        try:
            found += _entries_of(distribution, name)
        except Exception as error:  # whatever reading a stranger's files raises
            _warn_of_broken(distribution, name, error)
    return sorted(found, key=lambda entry: list(GROUPS).index(entry.group))


def _entries_of(distribution: Distribution, name: str) -> list[PluginEntry]:
    points = [point for point in distribution.entry_points if point.group in GROUPS]
    version = _version_of(distribution) if points else None
    return [PluginEntry(each.group, each.name, each.value, name, version) for each in points]


def _version_of(distribution: Distribution) -> str | None:
    """Return the version of a distribution, None if its metadata has none: what reads metadata does
    not agree on whether that is an error.
    """
    from email import message_from_string

    texts = (distribution.read_text(name) for name in ("METADATA", "PKG-INFO", ""))
    version = message_from_string(next(filter(None, texts), "")).get("Version")
    return version and printable(str(version))


def _warn_of_broken(distribution: Distribution, name: str, error: Exception) -> None:
    warn_user(
        f"the metadata of the distribution {name} in {getattr(distribution, '_path', '?')} cannot "
        f"be read ({type(error).__name__}: {error}), so that its plugins, if it has some, are not "
        f"found. Install {name} again, with --force-reinstall, from where it came from."
    )


def blocked(entry: PluginEntry) -> str | None:
    """Return the word of ``DOVETAIL_BLOCK`` that keeps `entry` out (its name or that of its
    distribution), or None.
    """
    given = re.split(r"[,\s]+", os.environ.get("DOVETAIL_BLOCK", ""))
    words = {normalized(word): word for word in given if word}
    return words.get(normalized(entry.name)) or words.get(normalized(entry.distribution))


def normalized(distribution: str) -> str:
    """Return a distribution name in the form in which two spellings of it are equal."""
    return re.sub(r"[-_]+", "-", distribution).lower()
