"""A trial: a function, its leaves, and a nesting of transforms; and how a plan runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .levels import Leaves, Level, applied
from .outcomes import Outcome, outcome, seen, steps
from .ways import Way

__all__ = ["Plan", "Trial", "ran"]


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


def ran(trial: Trial, plan: Plan) -> Outcome:
    """Run a trial by a plan.

    Strides are those of dimensions that are stepped along; none where a level is `vmap`, which
    leaves the batch dimension where it lies, while a loop stacks, or `functionalize`, which
    computes anew what is written. Of leaves, whether a write is counted is a fact too.
    """
    lib = plan.outer.lib
    leaves = [lib.tensor(each) for each in trial.leaves]

    def call() -> list[Any]:
        with np.errstate(all="ignore"):
            inside = applied(trial.levels[1:], plan.rest, lambda given: trial.body(lib, given))
            results = applied(trial.levels[:1], plan.outer, inside)(leaves)
            kept = [seen(each, strides=_strides(each, trial)) for each in results]
            for each in leaves if trial.watched else []:
                kept.append(seen(each, strides=_strides(each, trial), written=each._version > 0))
            return kept

    return outcome(call, lib)


def _strides(tensor: Any, trial: Trial) -> tuple[int, ...]:
    if {"vmap", "functionalize"} & {each.kind for each in trial.levels}:
        return ()
    return steps(tensor.shape, tensor.stride())
