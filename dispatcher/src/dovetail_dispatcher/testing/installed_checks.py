"""Where the front end installs its checks, for test suites that do not import it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .check import Check

__all__ = ["checks", "install_checks"]

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
            "no checks of operators are installed. The distribution dovetail has them: "
            "import dovetail."
        )
    return found
