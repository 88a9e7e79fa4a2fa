"""A trial: a function, its leaves, and a nesting of transforms; and how a plan runs it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .levels import Leaves, Level, applied
from .ways import Way

__all__ = ["Outcome", "Plan", "Trial", "outcome"]


@dataclass(frozen=True)
class Trial:
    """What the ways run.

    Attributes
    ----------
    name
        The operator or program.
    body
        ``body(lib, leaves)`` returns a list of tensors.
    leaves
        Values of the leaves, with the batch dimensions of the levels.
    levels
        The nesting, outermost level first.
    watched
        Whether the leaves are compared after the run: what was written to them.
    text
        What a report says of it beside the levels.
    parts, of_parts
        What may be left out to make it smaller, and the trial of fewer of them.
    """

    name: str
    body: Callable[[Any, Leaves], list[Any]]
    leaves: tuple[Any, ...]
    levels: tuple[Level, ...]
    watched: bool = False
    text: str = ""
    parts: tuple[Any, ...] = ()
    of_parts: Callable[[tuple[Any, ...]], Trial] | None = None

    @property
    def nesting(self) -> str:
        """Kinds of the levels, outermost first."""
        return " of ".join([each.kind for each in self.levels]) or "eager"

    def __str__(self) -> str:
        return f"{self.name} {list(self.levels)} {self.text}"


@dataclass(frozen=True)
class Plan:
    """Which way runs the outermost level of a trial, and which the others."""

    outer: Way
    rest: Way


@dataclass
class Outcome:
    """Everything that is compared of a run.

    Attributes
    ----------
    values
        Arrays of the results.
    written
        Which leaves count a write.
    error
        What was raised, or None.
    warned
        Categories and texts of the warnings.
    """

    values: list[Any] = field(default_factory=list)
    written: list[bool] = field(default_factory=list)
    error: Exception | None = None
    warned: list[tuple[str, str]] = field(default_factory=list)


def outcome(trial: Trial, plan: Plan) -> Outcome:
    """Run a trial by a plan."""
    lib = plan.outer.lib
    leaves = [lib.tensor(each) for each in trial.leaves]

    def body(given: Leaves) -> list[Any]:
        return trial.body(lib, given)

    result = Outcome()
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            inside = applied(trial.levels[1:], plan.rest, body)
            results = applied(trial.levels[:1], plan.outer, inside)(leaves)
            kept = [*results, *(leaves if trial.watched else [])]
            result.values = [np.asarray(each.detach().resolve_conj().numpy()) for each in kept]
            result.written = [each._version > 0 for each in leaves] if trial.watched else []
        except Exception as error:
            result.error = error
    result.warned = sorted({(each.category.__name__, str(each.message)) for each in caught})
    return result
