"""The list of trials that may differ from their reference: `tests/hunts/exceptions.yaml`."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from .driver import Find

__all__ = ["Listed", "exceptions", "listed"]

PLACE = Path(__file__).parents[2] / "hunts" / "exceptions.yaml"


@dataclass(frozen=True)
class Listed:
    """Trials that differ for one reason.

    Attributes
    ----------
    hunts
        Names of the hunts; the examples are of the first.
    kind
        ``"refusal"``, ``"wrong"`` or ``"accepted"``.
    reason
        Why it stays.
    examples
        Turns of some trials that differ, by subject.
    text
        Part of the text of the difference.
    subjects
        Beginnings of the names of the subjects, where it is about some of them.
    nesting
        Pattern of the nesting, from its beginning.
    sample
        Pattern of something in the text of the trial: its sample, and how its values were drawn.
    pieces
        Names of steps, for programs: a program with one of them is excused whatever its subject is.
    """

    hunts: list[str]
    kind: str
    reason: str
    examples: dict[str, int]
    text: str = ""
    subjects: list[str] = field(default_factory=list)
    nesting: str = ""
    sample: str = ""
    pieces: list[str] = field(default_factory=list)

    def holds(self, find: Find) -> bool:
        """Say whether a find is one of those."""
        steps = set(find.trial.name.split(", "))
        subjects = tuple(self.subjects)
        return (
            find.hunt in self.hunts
            and find.kind == self.kind
            and self.text in find.text
            and re.match(self.nesting, find.trial.nesting) is not None
            and re.search(self.sample, find.trial.text) is not None
            and (not subjects or find.subject.startswith(subjects))
            and (not self.pieces or bool(steps & set(self.pieces)))
        )


@functools.cache
def exceptions() -> tuple[Listed, ...]:
    """Return the list."""
    return tuple([Listed(**each) for each in yaml.safe_load(PLACE.read_text("utf-8")) or []])


def listed(find: Find) -> Listed | None:
    """Return the entry that a find falls under, or None."""
    return next((each for each in exceptions() if each.holds(find)), None)
