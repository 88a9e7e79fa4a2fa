"""`EventList`: the events of a profile, summed by operator, as a table, and in files."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Mapping
from typing import Any

from .._files import write_file, write_text
from .events import FunctionEvent, FunctionEventAvg
from .tables import table_of


class EventList(list[Any]):
    """Events of calls, or of operators.

    Parameters
    ----------
    events
        The events.
    profile_memory, with_flops
        Whether tables have columns for memory and floating-point operations.
    """

    def __init__(
        self, events: Any = (), *, profile_memory: bool = False, with_flops: bool = False
    ) -> None:
        super().__init__(events)
        self.profile_memory = profile_memory
        self.with_flops = with_flops

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """The self time of all events, in microseconds."""
        return sum([float(each.self_cpu_time_total) for each in self])

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """Return the sum of all events of each operator, in the order of their first calls.

        Parameters
        ----------
        group_by_input_shape
            Return one event for each combination of shapes; requires `record_shapes`. Default:
            False.
        group_by_stack_n
            Return one event for each sequence of this many innermost frames; requires `with_stack`.
            Default: 0.
        group_by_overload_name
            Return one event for each overload. Default: False.
        """
        groups: dict[Any, FunctionEventAvg] = {}
        for event in self:
            overload = event.overload_name if group_by_overload_name else ""
            shapes = str(event.input_shapes) if group_by_input_shape else ""
            stack = event.stack[:group_by_stack_n] if group_by_stack_n > 0 else []
            group = groups.get(place := (event.key, overload, shapes, *stack))
            if group is None:
                group = groups[place] = FunctionEventAvg(event.key, overload, shapes, stack)
            group.add(event)
        return EventList(
            groups.values(), profile_memory=self.profile_memory, with_flops=self.with_flops
        )

    def total_average(self) -> FunctionEventAvg:
        """Return the sum of all events."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """Return the events as a table, one per line.

        Parameters
        ----------
        sort_by
            Column to sort by, largest first: ``"cpu_time"``, ``"cpu_time_total"``,
            ``"self_cpu_time_total"``, ``"cpu_memory_usage"``, ``"self_cpu_memory_usage"``,
            ``"count"``, ``"flops"``. Default: as they are.
        row_limit
            Maximum number of lines; -1 means all. Default: 100.
        max_src_column_width, max_name_column_width, max_shapes_column_width
            Maximum widths of the columns. Default: 75, 55, 80.
        header
            A line above the table. Default: none.
        top_level_events_only
            Omit events that are called by other events. Default: False.
        time_unit
            ``"s"``, ``"ms"`` or ``"us"``. Default: a unit for each time.

        Raises
        ------
        AttributeError
            If events cannot be sorted by `sort_by`.
        """
        return table_of(
            self,
            sort_by=sort_by,
            row_limit=row_limit,
            widest_source=max_src_column_width,
            widest_name=max_name_column_width,
            widest_shapes=max_shapes_column_width,
            header=header,
            top_level_only=top_level_events_only,
            time_unit=time_unit,
            memory=self.profile_memory,
            flops=self.with_flops,
        )

    def export_chrome_trace(self, path: str, metadata: Mapping[str, object] = {}) -> None:
        """Write the calls to a file for chrome://tracing, Perfetto or TensorBoard.

        Parameters
        ----------
        path
            The file; compressed if it ends in ``.gz``.
        metadata
            Additional entries of the file. Default: none.
        """
        from os import getpid

        process = getpid()
        events = [_chrome_event(event, process) for event in self]
        content = {"schemaVersion": 1, "displayTimeUnit": "ms", **metadata, "traceEvents": events}
        text = json.dumps(content, default=str)
        if str(path).endswith(".gz"):
            write_file(os.fspath(path), [gzip.compress(text.encode())])
        else:
            write_text(path, text)

    def export_stacks(self, path: str, metric: str) -> None:
        """Write a line with the stack frames, outermost first, and the time for each call that was
        recorded with its stack: the input format of flame graph tools.

        Parameters
        ----------
        path
            The file.
        metric
            ``"self_cpu_time_total"``: the time to write, in microseconds, as an integer.

        Raises
        ------
        ValueError
            For any other metric.
        """
        if metric not in ("self_cpu_time_total", "self_cuda_time_total"):
            raise ValueError(
                f"metric should be one of: ['self_cpu_time_total', 'self_cuda_time_total'], not "
                f"{metric!r}"
            )
        total: dict[str, int] = {}
        for event in self:
            value = int(getattr(event, metric))
            if event.stack and value > 0:
                frames = [_frame_name(each) for each in (*reversed(event.stack), event.name)]
                line = ";".join(frames)
                total[line] = total.get(line, 0) + value
        lines = [f"{line} {value}\n" for line, value in total.items()]
        write_text(path, "".join(lines))


def _chrome_event(event: FunctionEvent, process: int) -> dict[str, Any]:
    arguments: dict[str, Any] = {"External id": event.id, "cpu_time_us": event.cpu_time_total}
    if event.overload_name:
        arguments["Overload"] = event.overload_name
    details = event.details
    if details.shapes:
        arguments["Input Dims"] = details.shapes
        arguments["Input Strides"] = details.strides
        arguments["Input type"] = details.dtypes
        arguments["Concrete Inputs"] = [
            "" if value is None else str(value) for value in details.concrete
        ]
    if details.stack:
        arguments["Call stack"] = ";".join(details.stack)
    if event.self_cpu_memory_usage:
        arguments["Bytes"] = event.self_cpu_memory_usage
    return {
        "ph": "X",
        "cat": "user_annotation" if event.is_user_annotation else "cpu_op",
        "name": event.name,
        "pid": process,
        "tid": event.thread,
        "ts": event.time_range.start,
        "dur": event.time_range.elapsed_us(),
        "args": arguments,
    }


def _frame_name(text: str) -> str:
    return text.replace(";", ":").replace(" ", "_")
