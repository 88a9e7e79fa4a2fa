"""How a route calls an array function, and by the number of elements which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["BySize", "CallSpec"]


class BySize(NamedTuple):
    """What a route calls by the number of elements of its first tensor.

    Attributes
    ----------
    few
        The function for fewer than `least`.
    many
        That for others.
    writes
        Whether it is better too where it writes into an array that there is, ``out=``.
    note
        Which function is called when, for `explain`; empty if that makes no difference but in time.
    """

    few: Callable[..., Any]
    least: int
    many: Callable[..., Any]
    writes: bool = False
    note: str = ""


class CallSpec(NamedTuple):
    """How a route calls an array function.

    Attributes
    ----------
    function
        The function that is called.
    warns
        Whether it needs the quiet error state.
    least, many
        From how many elements on another function is called, and which; None: there is no other.
    note
        Which function is called when, for `explain`; empty if that makes no difference but in time.
    """

    function: Callable[..., Any]
    warns: bool = False
    least: int = 0
    many: Callable[..., Any] | None = None
    note: str = ""
