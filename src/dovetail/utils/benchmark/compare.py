"""`Compare`: a table of measurements."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from .measurement import Measurement
from .units import ordered_unique, select_unit, trim_sigfig, unit_to_english

_BEST: Final = "\033[92m\033[1m"
_WORST: Final = "\033[2m\033[91m"
_NO_ENV: Final = "Unspecified env"
_END: Final = "\033[0m\033[0m"


class Compare:
    """Tables of measurements: a table for each label, a row for each sub-label, a column for each
    description.

    Parameters
    ----------
    results
        The measurements; measurements of the same task are merged.
    """

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._trim = self._colorize = self._warnings = False
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements.

        Raises
        ------
        ValueError
            For anything else.
        """
        results = list(results)
        for each in results:
            if not isinstance(each, Measurement):
                raise ValueError(
                    f"Expected an instance of `Measurement`, got {type(each)} instead."
                )
        self._results += results

    def trim_significant_figures(self) -> None:
        """Show only significant digits."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Show the best time of each row in green, and times more than twice as long in red."""
        self._colorize = True

    def highlight_warnings(self) -> None:
        """Mark unreliable measurements, whose times vary too much, with an exclamation mark."""
        self._warnings = True

    def print(self) -> None:
        """Print the tables."""
        print(str(self))

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        labels = ordered_unique([each.task_spec.label for each in merged])
        tables = [[each for each in merged if each.task_spec.label == label] for label in labels]
        return "\n".join([self._table(table) for table in tables])

    def _table(self, results: list[Measurement]) -> str:
        unit, size = select_unit(min([each.median for each in results]))
        columns = ordered_unique([each.task_spec.description for each in results])
        several = len(ordered_unique([each.env for each in results])) > 1
        rows = ordered_unique(
            [(each.task_spec.num_threads, each.env, each.as_row_name) for each in results]
        )
        rows.sort(key=lambda row: row[0])
        cells = {
            (
                each.task_spec.num_threads,
                each.env,
                each.as_row_name,
                each.task_spec.description,
            ): each
            for each in results
        }
        names = [f"      {row[2]}{f'  ({row[1] or _NO_ENV})' * several}  " for row in rows]
        width = max(map(len, names))
        texts = [
            [self._text(cells.get((*row, column)), size) for column in columns] for row in rows
        ]
        heads = [str(column or "") for column in columns]
        widths = [
            max(len(head), *[len(line[at]) for line in texts]) + 2 for at, head in enumerate(heads)
        ]
        header = " " * width + "".join(
            [f"|{head:^{size}}" for head, size in zip(heads, widths, strict=True)]
        )
        title = f" {results[0].task_spec.label or ''} ".center(len(header) - 2, "-")
        lines = [f"[{title}]", header]
        shown = 0
        for row, name, line in zip(rows, names, texts, strict=True):
            if row[0] != shown:
                shown = row[0]
                lines.append(f"{shown} threads: ".ljust(len(header), "-"))
            values = [cells.get((*row, column)) for column in columns]
            best = min([each.median for each in values if each is not None])
            lines.append(
                f"{name:<{width}}"
                + "".join(
                    [
                        f"|{self._colored(f'{text:^{size}}', value, best)}"
                        for text, value, size in zip(line, values, widths, strict=True)
                    ]
                )
            )
        note = "\n(! XX%) Measurement has high variance, where XX is the IQR / median * 100."
        return (
            "\n".join(lines)
            + f"\n\nTimes are in {unit_to_english(unit)}s ({unit})."
            + note * (self._warnings and any([each.has_warnings for each in results]))
            + "\n"
        )

    def _text(self, result: Measurement | None, size: float) -> str:
        if result is None:
            return ""
        time = result.median / size
        digits = result.significant_figures if self._trim else 3
        shown = trim_sigfig(time, digits) if self._trim else time
        decimals = max(0, digits - len(str(int(shown)))) if self._trim else 1
        text = f"{shown:.{decimals}f}"
        if self._warnings and result.has_warnings:
            text += f" (! {result.iqr / result.median:.0%})"
        return text

    def _colored(self, text: str, result: Measurement | None, best: float) -> str:
        if not self._colorize or result is None:
            return text
        if result.median <= best * 1.05:
            return f"{_BEST}{text}{_END}"
        return f"{_WORST}{text}{_END}" if result.median > 2 * best else text


def _row(result: Measurement) -> tuple[int, str | None, str]:
    """Return what the results of one row have in common."""
    return result.task_spec.num_threads, result.env, result.as_row_name
