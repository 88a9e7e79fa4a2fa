"""The checks that run on every `OpInfo`: what one is, and where the front end installs its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dovetail_kernel import Device

from .op_info import OpInfo

__all__ = ["Check", "CheckSkipped", "checks", "install_checks"]


class CheckSkipped(Exception):
    """A check that says nothing about an operator; the text is the reason."""


@dataclass(frozen=True)
class Check:
    """A check of one operator on its samples.

    Attributes
    ----------
    name
        Its name, which `Skip` refers to.
    about
        What it shows, in one sentence.
    function
        ``function(op_info, device)`` raises an AssertionError if the operator fails, and
        `CheckSkipped` if the check is not about it.
    """

    name: str
    about: str
    function: Callable[[OpInfo, Device], None]

    def run(self, info: OpInfo, device: Device) -> None:
        """Check an operator on a device.

        Raises
        ------
        AssertionError
            If the check fails.
        CheckSkipped
            If the `OpInfo` leaves it out, or it is not about this operator.
        """
        skip = info.skip_of(self.name, device)
        if skip is not None:
            raise CheckSkipped(skip.reason)
        self.function(info, device)


_loaders: list[Callable[[], Iterable[Check]]] = []


def install_checks(loader: Callable[[], Iterable[Check]]) -> None:
    """Install checks; `loader` is called when they are first asked for, by `checks`."""
    _loaders.append(loader)


def checks() -> tuple[Check, ...]:
    """Return the installed checks.

    Raises
    ------
    RuntimeError
        If there are none, because the front end is not imported.
    """
    found = tuple([check for loader in _loaders for check in loader()])
    if not found:
        raise RuntimeError(
            "no checks of operators are installed. The distribution dovetail has them: import dovetail."
        )
    return found
