"""BySize: which of two functions a route calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["BySize"]


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
