"""Compares a trial's outcomes in two ways, and groups the differences by their cause."""

from __future__ import annotations

import contextlib
import gc
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import shrinking

from .outcomes import Closeness, Comparison, Outcome
from .trials import Plan, Trial, ran
from .ways import NotSmooth, Way

__all__ = ["Find", "Hunt", "Report", "by_cause", "compare", "heard"]

DOUBLE = ("float64", "complex128")
"""Dtypes of double precision: others are rounded more."""
AGREE = ("same", "both raise", "not smooth")
"""Kinds of results of a trial that are no differences."""
LOOSE = {"loop": (1e-8, 1e-10), "differences": (1e-5, 1e-7)}
"""Relative and absolute tolerance by the name of the way that is the reference."""


@dataclass(frozen=True)
class Hunt:
    """A generator of trials, with the ways that run them.

    Attributes
    ----------
    name
        Name for reports and for the list of refusals.
    subjects
        Returns what trials are about: names of operators.
    trial
        ``trial(subject, turn)`` returns a trial, or None where there is nothing to try.
    references
        The ways that are right, the cheapest first: what agrees with one of them is.
    plan
        The way that is tried.
    share
        Number of trials in a run of the tests.
    """

    name: str
    subjects: Callable[[], Sequence[str]]
    trial: Callable[[str, int], Trial | None]
    references: tuple[Plan, ...]
    plan: Plan
    share: int

    def of_seed(self, seed: int) -> tuple[str, int]:
        """Return subject and turn of a seed: successive seeds go through all subjects."""
        subjects = self.subjects()
        turn, place = divmod(seed, len(subjects))
        return subjects[place], turn

    def run(self, seeds: Iterable[int]) -> Report:
        """Run the trials of some seeds and report where the ways differ."""
        report = Report()
        with _long_lived_objects_apart():
            for seed in seeds:
                subject, turn = self.of_seed(seed)
                kind, find = self.check(subject, turn, report.nestings)
                report.counts[kind] += 1
                if find is not None:
                    report.finds.append(find)
        return report

    def check(
        self, subject: str, turn: int, nestings: Counter[str] | None = None
    ) -> tuple[str, Find | None]:
        """Run one trial, and count its nesting; return the kind of its result, and what differs."""
        trial = self.trial(subject, turn)
        if trial is None:
            return "nothing to try", None
        if nestings is not None:
            nestings[trial.nesting] += 1
        kind, text = compare(trial, self.references, self.plan)
        if kind in AGREE:
            return kind, None
        if kind == "accepted" and self.references[0].outer.name == "differences":
            return "not smooth", None  # a neighbour lies outside of the domain
        trial = self._smaller(trial, kind)
        _, text = compare(trial, self.references, self.plan)
        return kind, Find(self.name, subject, turn, trial, kind, text)

    def _smaller(self, trial: Trial, kind: str) -> Trial:
        """Return the trial with the parts alone that it needs to differ in the same way."""
        make = trial.of_parts
        if make is None:
            return trial

        def differs(parts: tuple[Any, ...]) -> bool:
            return compare(make(parts), self.references, self.plan)[0] == kind

        return make(shrinking.smaller(trial.parts, differs))


@contextlib.contextmanager
def _long_lived_objects_apart() -> Iterator[None]:
    """Keep the garbage collector from the objects that exist: it took a sixth of the time."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@dataclass(frozen=True)
class Find:
    """A difference.

    Attributes
    ----------
    hunt, subject, turn
        Which trial of which hunt it is.
    trial
        The trial.
    kind
        ``"wrong"``, ``"refusal"`` or ``"accepted"`` (a value where the reference raises).
    text
        What differs.
    """

    hunt: str
    subject: str
    turn: int
    trial: Trial
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind} ({self.subject!r}, {self.turn}): {self.trial}\n    {self.text}"


@dataclass
class Report:
    """Counts of a run, and its finds."""

    counts: Counter[str] = field(default_factory=Counter)
    nestings: Counter[str] = field(default_factory=Counter)
    finds: list[Find] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{kind} {count}" for kind, count in sorted(self.counts.items())]
        return f"nestings {len(self.nestings)}; " + "; ".join(lines)


def compare(trial: Trial, references: Sequence[Plan], plan: Plan) -> tuple[str, str]:
    """Return the kind of the difference of a trial from the last reference, and its text, or the
    kind of the agreement with one before it.
    """
    found = ran(trial, plan)
    kind, text = "", ""
    for reference in references:
        kind, text = _compared(found, ran(trial, reference), reference.outer)
        if kind in AGREE:
            break
    return kind, text


def _compared(found: Outcome, expected: Outcome, way: Way) -> tuple[str, str]:
    if isinstance(expected.error, NotSmooth):
        return "not smooth", ""
    kind, text = _comparison(way).of(found, expected)
    says_nothing = kind == "same" and not any(
        [bool(np.isfinite(each.values).any()) or not each.values.size for each in expected.result]
    )
    return ("not smooth", "") if says_nothing else (kind, text)


def _comparison(way: Way) -> Comparison:
    """Return what is compared with a way: differences call other functions, on other values, more
    often, so their errors, warnings and strides are their own.
    """
    relative, absolute = LOOSE[way.name]

    def close(dtype: str) -> Closeness:
        wider = relative if dtype in DOUBLE else max(relative, 1e-5)
        return Closeness(wider, absolute, with_nan=way.compares_nan)

    if way.name == "differences":
        return Comparison(way.name, close, without=("strides",))
    return Comparison(way.name, close, lambda mine, other: type(mine) is type(other), heard)


def heard(caught: list[warnings.WarningMessage]) -> list[tuple[str, str, str, int]]:
    """Return categories, texts, files and lines of warnings, each once."""
    return sorted(
        {(w.category.__name__, str(w.message), Path(w.filename).name, w.lineno) for w in caught}
    )


def by_cause(finds: Iterable[Find]) -> Iterator[tuple[str, list[Find]]]:
    """Yield finds that share kind and text without its numbers, the most frequent first."""
    groups: dict[str, list[Find]] = {}
    for each in finds:
        text = "values" if each.kind == "wrong" else re.sub(r"[\d.e+-]+", "#", each.text)
        groups.setdefault(f"{each.kind} {each.trial.name} {text}", []).append(each)
    yield from sorted(groups.items(), key=lambda item: -len(item[1]))
