"""Compares a trial's outcomes in two ways, and groups the differences by their cause."""

from __future__ import annotations

import contextlib
import gc
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import shrinking

from .trials import Outcome, Plan, Trial, outcome
from .ways import NotSmooth

__all__ = ["Find", "Hunt", "Report", "by_cause", "compare"]

SINGLE = {"f": 8, "c": 16}
"""Bytes of numbers of double precision, by kind: others are rounded more."""
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
    found = outcome(trial, plan)
    kind, text = "", ""
    for reference in references:
        kind, text = _compared(outcome(trial, reference), found, reference)
        if kind in AGREE:
            break
    return kind, text


def _compared(expected: Outcome, found: Outcome, reference: Plan) -> tuple[str, str]:
    if isinstance(expected.error, NotSmooth):
        return "not smooth", ""
    if expected.error is not None:
        if found.error is not None:
            return _errors(expected.error, found.error, reference)
        return "accepted", f"the {reference.outer.name} raises {_said(expected.error)}"
    if found.error is not None:
        return "refusal", _said(found.error)
    return _values(expected, found, reference)


def _errors(expected: Exception, found: Exception, reference: Plan) -> tuple[str, str]:
    """Compare errors: of a loop by type, of differences, which call other functions, not at all."""
    if reference.outer.name == "loop" and type(found) is not type(expected):
        return "wrong", f"raises {_said(found)}, not {_said(expected)}"
    return "both raise", ""


def _said(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}"


def _values(expected: Outcome, found: Outcome, reference: Plan) -> tuple[str, str]:
    if len(expected.values) != len(found.values):
        return "wrong", f"{len(found.values)} results, not {len(expected.values)}"
    if reference.outer.name == "loop":  # differences call a function more often, on other values
        for name in ("warned", "strides"):
            mine, other = getattr(found, name), getattr(expected, name)
            if mine != other:
                return "wrong", f"{name}: {mine}, not {other}"
    if found.written != expected.written:
        return "wrong", f"leaves with a new version {found.written}, not {expected.written}"
    compared = False
    relative, absolute = LOOSE[reference.outer.name]
    for place, (mine, other) in enumerate(zip(found.values, expected.values, strict=True)):
        if mine.shape != other.shape:
            return "wrong", f"result {place}: shape {mine.shape}, not {other.shape}"
        if mine.dtype != other.dtype:
            return "wrong", f"result {place}: {mine.dtype}, not {other.dtype}"
        text = _difference(mine, other, relative, absolute, reference.outer.compares_nan)
        if text:
            return "wrong", f"result {place}: {text}"
        compared = compared or bool(np.isfinite(other).any()) or not other.size
    return ("same" if compared else "not smooth"), ""


def _difference(mine: Any, other: Any, relative: float, absolute: float, with_nan: bool) -> str:
    """Return how arrays differ; NaN in `other` counts only `with_nan`."""
    known = np.ones(other.shape, bool) if with_nan else np.isfinite(other)
    finite = other[np.isfinite(other)]
    scale = max([1.0, *np.abs(finite).ravel()])
    if mine.dtype.itemsize < SINGLE.get(mine.dtype.kind, 0):
        relative = max(relative, 1e-5)
    with np.errstate(all="ignore"):
        close = np.isclose(mine, other, relative, absolute * scale, equal_nan=with_nan)
    wrong = known & ~close
    if not wrong.any():
        return ""
    return f"{mine[wrong].ravel()[:3].tolist()}, not {other[wrong].ravel()[:3].tolist()}"


def by_cause(finds: Iterable[Find]) -> Iterator[tuple[str, list[Find]]]:
    """Yield finds that share kind and text without its numbers, the most frequent first."""
    groups: dict[str, list[Find]] = {}
    for each in finds:
        text = "values" if each.kind == "wrong" else re.sub(r"[\d.e+-]+", "#", each.text)
        groups.setdefault(f"{each.kind} {each.trial.name} {text}", []).append(each)
    yield from sorted(groups.items(), key=lambda item: -len(item[1]))
