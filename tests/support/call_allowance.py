"""One row of the table of calls that may differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from call_outcomes import Disagreement
from random_calls import Call


@dataclass(frozen=True)
class Allowance:
    """A difference that is allowed.

    Attributes
    ----------
    reason
        What the two do, and why it stays so.
    kinds
        The classes of disagreement.
    holds
        Whether a call is one of those.
    example
        A call that shows it.
    """

    reason: str
    kinds: tuple[str, ...]
    holds: Callable[[Call, Disagreement], bool]
    example: Call
