"""A trial: a function, its leaves, and a nesting of transforms; and how a plan runs it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
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
    strides
        Strides of the results, without those of dimensions that are not stepped along; none where
        a level is `vmap`, which leaves the batch dimension where it lies, while a loop stacks.
    written
        Which leaves count a write.
    error
        What was raised, or None.
    warned
        Categories, texts, files and lines of the warnings.
    """

    values: list[Any] = field(default_factory=list)
    strides: list[tuple[int, ...]] = field(default_factory=list)
    written: list[bool] = field(default_factory=list)
    error: Exception | None = None
    warned: list[tuple[str, str, str, int]] = field(default_factory=list)


def outcome(trial: Trial, plan: Plan) -> Outcome:
    """Run a trial by a plan."""
    lib = plan.outer.lib
    leaves = [lib.tensor(each) for each in trial.leaves]

    def body(given: Leaves) -> list[Any]:
        return trial.body(lib, given)

    result = Outcome()
    is_often = lib.is_warn_always_enabled()
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        lib.set_warn_always(True)  # otherwise the way that comes second would not warn
        try:
            inside = applied(trial.levels[1:], plan.rest, body)
            results = applied(trial.levels[:1], plan.outer, inside)(leaves)
            kept = [*results, *(leaves if trial.watched else [])]
            result.values = [np.asarray(each.detach().resolve_conj().numpy()) for each in kept]
            if "vmap" not in [each.kind for each in trial.levels]:
                result.strides = [_strides(each) for each in kept]
            result.written = [each._version > 0 for each in leaves] if trial.watched else []
        except Exception as error:
            result.error = error
        finally:
            lib.set_warn_always(is_often)
    result.warned = sorted(
        {(w.category.__name__, str(w.message), Path(w.filename).name, w.lineno) for w in caught}
    )
    return result


def _strides(tensor: Any) -> tuple[int, ...]:
    pairs = zip(tensor.shape, tensor.stride(), strict=True)
    return tuple([step for size, step in pairs if size > 1]) if tensor.numel() else ()
