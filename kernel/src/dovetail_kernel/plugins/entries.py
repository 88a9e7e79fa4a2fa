"""Lists the entry points of Dovetail's plugin groups, without importing any plugin."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

BACKENDS: Final = "dovetail.backends"
LIBRARIES: Final = "dovetail.libraries"
KERNELS: Final = "dovetail.kernels"
TRANSFORMS: Final = "dovetail.transforms"
OVERLAYS: Final = "dovetail.overlays"

GROUPS: Final[Mapping[str, str]] = MappingProxyType(
    {
        BACKENDS: "backend for device type",
        LIBRARIES: "library for namespace",
        KERNELS: "kernels",
        TRANSFORMS: "transform",
        OVERLAYS: "overlay",
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
        )
    }
)
"""Dovetail's own plugins. They are found by name, because reading the metadata of everything
installed takes 25 ms.
"""


def scan_entry_points() -> list[PluginEntry]:
    """Return the entry points of all plugin groups, in the order of ``sys.path``."""
    from importlib.metadata import entry_points

    found = []
    for group in GROUPS:
        for point in entry_points(group=group):
            distribution, version = (
                (point.dist.name, point.dist.version) if point.dist else ("an unknown one", None)
            )
            found.append(PluginEntry(group, point.name, point.value, distribution, version))
    return found


def blocked(entry: PluginEntry) -> str | None:
    """Return the word of ``DOVETAIL_BLOCK`` that keeps `entry` out (its name or that of its
    distribution), or None.
    """
    words = {normalized(word): word for word in _words("DOVETAIL_BLOCK")}
    return words.get(normalized(entry.name)) or words.get(normalized(entry.distribution))


def requested_overlays() -> list[str]:
    """Return the overlays that ``DOVETAIL_OVERLAYS`` asks for."""
    return _words("DOVETAIL_OVERLAYS")


def normalized(distribution: str) -> str:
    """Return a distribution name in the form in which two spellings of it are equal."""
    return re.sub(r"[-_]+", "-", distribution).lower()


def _words(variable: str) -> list[str]:
    return [word for word in re.split(r"[,\s]+", os.environ.get(variable, "")) if word]
