"""`Measurement`: the times of one statement, and their spread."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import floor, log10
from statistics import fmean, median, pstdev
from textwrap import indent
from typing import Any, Final

from .units import select_unit

_MAX_SIGNIFICANT_FIGURES: Final = 4
_CONFIDENCE: Final = 1.645  # of nine in ten, for a normal distribution
_IQR_WARNED: Final = 0.1
_IQR_GROSS: Final = 0.25


@dataclass(frozen=True)
class TaskSpec:
    """What was measured.

    Attributes
    ----------
    stmt, setup, global_setup
        The statement, and the code that runs before it.
    label, sub_label, description, env
        Labels of the table, the row, the column, and the environment.
    num_threads
        Number of threads that the statement may use.
    """

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or its default."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        if "\n" not in self.stmt:
            return self.stmt + (f": {self.sub_label}" if self.sub_label else "")
        return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{indent(self.stmt, '  ')}"

    def summarize(self) -> str:
        """Return title, description and setup, one per line."""
        lines = [self.title, self.description]
        if self.setup and self.setup != "pass":
            several = "\n" in self.setup
            lines.append(
                f"setup:\n{indent(self.setup, '  ')}" if several else f"setup: {self.setup}"
            )
        return "\n".join([line for line in lines if line])


@dataclass(init=True, repr=False)
class Measurement:
    """The times of one statement.

    Attributes
    ----------
    number_per_run
        Number of runs of the statement in each time.
    raw_times
        The times of all these runs together, in seconds.
    task_spec
        Description of the measured statement.
    metadata
        Additional data.
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None
    _sorted: tuple[float, ...] = field(init=False, repr=False, default=())

    def __post_init__(self) -> None:
        self._sorted = tuple(sorted(self.times))

    @property
    def times(self) -> list[float]:
        """The times of one run of the statement, in seconds."""
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def median(self) -> float:
        """The median time in seconds."""
        return float(median(self._sorted))

    @property
    def mean(self) -> float:
        """The mean time in seconds."""
        return fmean(self._sorted)

    @property
    def iqr(self) -> float:
        """The interquartile range of the times, in seconds."""
        return self._quantile(0.75) - self._quantile(0.25)

    @property
    def significant_figures(self) -> int:
        """Number of significant digits of the median, estimated from the interquartile range."""
        low, high = self._quantile(0.25), self._quantile(0.75)
        middle = [time for time in self._sorted if low <= time <= high]
        if len(middle) < 2 or not self.median:
            return 1
        error = _CONFIDENCE * pstdev(middle) / len(middle) ** 0.5
        relative = max(error / self.median, 10.0**-_MAX_SIGNIFICANT_FIGURES)
        return min(max(floor(-log10(relative)), 1), _MAX_SIGNIFICANT_FIGURES)

    @property
    def has_warnings(self) -> bool:
        """Whether the times vary too much to be reliable."""
        return not self.meets_confidence()

    def meets_confidence(self, threshold: float = _IQR_WARNED) -> bool:
        """Return whether the interquartile range is small relative to the median."""
        return self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        """The label, or its default."""
        return self.task_spec.title

    @property
    def env(self) -> str | None:
        """The environment."""
        return self.task_spec.env

    @property
    def as_row_name(self) -> str:
        """Label of the row in a table."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def __getattr__(self, name: str) -> Any:
        if name in ("stmt", "setup", "label", "sub_label", "description", "num_threads"):
            return getattr(self.task_spec, name)
        raise AttributeError(f"'Measurement' object has no attribute {name!r}")

    def __repr__(self) -> str:
        unit, size = select_unit(self.median)
        lines = [
            f"<{type(self).__module__}.{type(self).__name__} object at {hex(id(self))}>",
            self.task_spec.summarize(),
        ]
        several = len(self.raw_times) > 1
        if several:
            low, high = self._quantile(0.25) / size, self._quantile(0.75) / size
            lines.append(f"  Median: {self.median / size:.2f} {unit}")
            lines.append(f"  IQR:    {self.iqr / size:.2f} {unit} ({low:.2f} to {high:.2f})")
        else:
            lines.append(f"  {self.median / size:.2f} {unit}")
        runs = f"{self.number_per_run} runs {'per measurement' if several else ''}"
        threads = self.task_spec.num_threads
        lines.append(
            f"  {len(self.raw_times)} measurement{'s' * several}, {runs}, "
            f"{threads} thread{'s' * (threads > 1)}"
        )
        if several and self.has_warnings:
            lines += self._warning()
        return "\n".join(lines)

    def _warning(self) -> list[str]:
        gross = self.iqr / self.median >= _IQR_GROSS
        could = "suggests significant" if gross else "could indicate system"
        end = "environmental influence" if gross else "fluctuation"
        return [
            f"  WARNING: Interquartile range is {self.iqr / self.median:.1%} of the median "
            "measurement.",
            f"           This {could} {end}.",
        ]

    def _quantile(self, part: float) -> float:
        place = part * (len(self._sorted) - 1)
        below = int(place)
        above = min(below + 1, len(self._sorted) - 1)
        return self._sorted[below] + (place - below) * (self._sorted[above] - self._sorted[below])

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Merge measurements of the same task."""
        groups: dict[TaskSpec, list[Measurement]] = {}
        for measurement in measurements:
            groups.setdefault(measurement.task_spec, []).append(measurement)
        return [
            Measurement(1, [time for each in group for time in each.times], task)
            for task, group in groups.items()
        ]
