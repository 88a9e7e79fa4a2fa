"""One row of the table: an expression, what it is evaluated on, and the mode it runs in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Run = Callable[[], object]
Scope = Callable[[Any, bool], dict[str, Any]]
"""Called with a library and whether a graph is to be recorded, returns the names of a row."""

MODES = ("plain", "recording", "no_grad", "inference")


@dataclass(frozen=True)
class Row:
    """One thing to measure on both sides.

    Attributes
    ----------
    group
        Rows of a group share one geometric mean.
    family
        A part of the group that is reported apart.
    name
        What is measured.
    make
        Called with a library (dovetail or torch), returns what to time.
    mode
        One of `MODES`: the guard that is entered around all calls of a round.
    per
        Units in one call: the time shown is per unit.
    """

    group: str
    family: str
    name: str
    make: Callable[[Any], Run]
    mode: str = "plain"
    per: int = 1


def expression(text: str, scope: Scope, *, mode: str = "plain") -> Callable[[Any], Run]:
    """Return what makes the function ``lambda: text`` for a library.

    The names are cells of a closure, so that looking them up costs both sides the same and little.
    """

    def make(lib: Any) -> Run:
        names = scope(lib, mode in ("recording", "no_grad"))
        source = (
            f"def outer({', '.join(names)}):\n"
            f"    def run():\n"
            f"        return {text}\n"
            f"    return run\n"
        )
        made: dict[str, Any] = {}
        exec(source, made)
        run: Run = made["outer"](**names)
        return run

    return make
