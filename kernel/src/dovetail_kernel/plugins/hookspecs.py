"""The specifications that plugins implement, as pluggy hooks of the project "dovetail"."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pluggy

PROJECT = "dovetail"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


def _always() -> str | None:
    return None


def _one() -> int:
    return 1


class BackendSpec(NamedTuple):
    """Description of a backend plugin, which imports nothing heavy.

    Attributes
    ----------
    name
        The device type, the same as the name of the entry point.
    load
        Registers the backend's arrays and kernels (`dovetail.backends.register_backend`, or
        `Backend.attach` and a `Library`); called once, if it is available.
    is_available
        Function that returns None if the backend works on this machine, else the reason and a
        remedy.
    device_count
        Returns the number of devices.
    """

    name: str
    load: Callable[[], None]
    is_available: Callable[[], str | None] = _always
    device_count: Callable[[], int] = _one


@hookspec(firstresult=True)
def dovetail_backend() -> BackendSpec:
    """Return the description of a backend (group ``dovetail.backends``)."""
    raise NotImplementedError


@hookspec
def dovetail_load(group: str, name: str) -> None:
    """Register what the entry point stands for: operators, kernels, a functionality.

    Parameters
    ----------
    group, name
        The entry point, for plugins that serve several; an implementation may leave out either
        parameter.
    """
    raise NotImplementedError
