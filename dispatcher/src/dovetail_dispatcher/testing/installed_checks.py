"""Asks the front end for its checks, for test suites that do not import it."""

from __future__ import annotations

from ..sockets import CHECKS
from .check import Check


def checks() -> tuple[Check, ...]:
    """Return the installed checks.

    Raises
    ------
    RuntimeError
        If there are no checks, because the front end is not imported.
    """
    found = tuple([check for loader in CHECKS.plugs for check in loader()])
    if not found:
        raise RuntimeError(
            "no checks of operators are installed. The distribution dovetail has them: "
            "import dovetail."
        )
    return found
