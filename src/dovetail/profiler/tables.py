"""Tables of events in PyTorch's format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from .events import FunctionEventAvg

_NUMBER_WIDTH: Final = 12
_SPACING: Final = "  "
_UNITS: Final = {"us": 1.0, "ms": 1e3, "s": 1e6}
_SIZES: Final = (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10))


def format_time(microseconds: float, unit: str | None = None) -> str:
    """Return a time as text, by default in a suitable unit."""
    if unit is None:
        unit = "s" if microseconds >= 1e6 else "ms" if microseconds >= 1e3 else "us"
    return f"{microseconds / _UNITS[unit]:.3f}{unit}"


def format_memory(size: int) -> str:
    """Return a number of bytes as text."""
    for name, unit in _SIZES:
        if abs(size) >= unit:
            return f"{size / unit:.2f} {name}"
    return f"{size} B"


def table_of(
    events: Iterable[Any],
    *,
    sort_by: str | None,
    row_limit: int,
    widest_source: int,
    widest_name: int,
    widest_shapes: int,
    header: str | None,
    top_level_only: bool,
    time_unit: str | None,
    memory: bool,
    flops: bool,
) -> str:
    """Return events as a table; see `EventList.table`."""
    rows = list(events)
    total = sum([event.self_cpu_time_total for event in rows])
    if sort_by is not None:
        rows.sort(key=_sorting(rows, sort_by), reverse=True)
    if top_level_only:
        rows = [event for event in rows if getattr(event, "cpu_parent", None) is None]
    shown = rows if row_limit < 0 else rows[:row_limit]

    def time(event: object, name: str) -> str:
        return format_time(getattr(event, name), time_unit)

    def share(event: object, name: str) -> str:
        part = getattr(event, name)
        return f"{part / total:.2%}" if total else "NaN"

    columns: list[tuple[str, int, Callable[[Any], str]]] = [
        ("Name", _width(rows, "key", widest_name), lambda e: _cut(e.key, widest_name)),
        ("Self CPU %", _NUMBER_WIDTH, lambda e: share(e, "self_cpu_time_total")),
        ("Self CPU", _NUMBER_WIDTH, lambda e: time(e, "self_cpu_time_total")),
        ("CPU total %", _NUMBER_WIDTH, lambda e: share(e, "cpu_time_total")),
        ("CPU total", _NUMBER_WIDTH, lambda e: time(e, "cpu_time_total")),
        ("CPU time avg", _NUMBER_WIDTH, lambda e: time(e, "cpu_time")),
    ]
    if memory:
        columns += [
            ("CPU Mem", _NUMBER_WIDTH, lambda e: format_memory(e.cpu_memory_usage)),
            ("Self CPU Mem", _NUMBER_WIDTH, lambda e: format_memory(e.self_cpu_memory_usage)),
        ]
    columns.append(("# of Calls", _NUMBER_WIDTH, lambda e: str(e.count)))
    if any([event.overload_name for event in rows if isinstance(event, FunctionEventAvg)]):
        width = _width(rows, "overload_name", widest_name)
        columns.insert(1, ("Overload Name", width, lambda e: e.overload_name))
    if any([event.input_shapes for event in rows]):
        width = _width(rows, "input_shapes", widest_shapes)
        columns.append(("Input Shapes", width, lambda e: _cut(str(e.input_shapes), widest_shapes)))
    sources = max((len(line) for event in rows for line in event.stack), default=0)
    if sources:
        width = min(sources + 4, widest_source)
        columns.append(
            ("Source Location", width, lambda e: _cut(e.stack[0], width) if e.stack else "")
        )
    if flops:
        name, unit = _flops_unit(max([event.flops for event in rows], default=0))
        columns.append(
            (f"Total {name}", _NUMBER_WIDTH, lambda e: f"{e.flops / unit:.3f}" if e.flops else "--")
        )
    line = _SPACING.join(["-" * width for _, width, _ in columns]) + _SPACING
    lines = [line, _row([(name, width) for name, width, _ in columns]), line]
    if top_level_only:
        lines.insert(0, "This report only display top-level ops statistics")
    if header is not None:
        lines = ["=" * len(line), header, "=" * len(line), *lines]
    lines += [_row([(text(event), width) for _, width, text in columns]) for event in shown]
    lines += [line, f"Self CPU time total: {format_time(total, time_unit)}", ""]
    return "\n".join(lines)


def _sorting(rows: Sequence[object], name: str) -> Callable[[Any], Any]:
    known = "cpu_time cpu_time_total self_cpu_time_total cpu_memory_usage self_cpu_memory_usage"
    choices = [*known.split(), "count", "flops", "key"]
    if rows and not hasattr(rows[0], name):
        raise AttributeError(
            f"{type(rows[0]).__name__!r} object has no attribute {name!r}: sort_by is one of "
            f"{', '.join(choices)}"
        )
    return lambda event: getattr(event, name)


def _width(rows: Sequence[object], name: str, widest: int) -> int:
    return min(max((len(str(getattr(row, name))) for row in rows), default=9) + 4, widest)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: max(0, width - 3)]}..."


def _row(cells: list[tuple[str, int]]) -> str:
    return _SPACING.join([f"{text:>{width}}" for text, width in cells]) + _SPACING


def _flops_unit(most: int) -> tuple[str, float]:
    units = [("FLOPs", 1.0), ("KFLOPs", 1e3), ("MFLOPs", 1e6), ("GFLOPs", 1e9), ("TFLOPs", 1e12)]
    return next(iter([each for each in reversed(units) if most >= each[1]]), units[0])
