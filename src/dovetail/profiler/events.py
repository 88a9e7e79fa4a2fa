"""Events of a profile: one per call, and one per operator."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from dovetail_dispatcher import Span

from .observation import Details, Observation

_MICROSECOND: Final = 1e3
_STEPS: Final = "ProfilerStep"


@dataclass(frozen=True, slots=True)
class Interval:
    """A time, in microseconds since the profile began.

    Attributes
    ----------
    start, end
        Start and end.
    """

    start: float
    end: float

    def elapsed_us(self) -> float:
        """Return the duration."""
        return self.end - self.start


class _Times:
    """What events of calls and of operators tell alike; times are in microseconds."""

    key: str
    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    cpu_memory_usage: int
    self_cpu_memory_usage: int
    flops: int
    input_shapes: Any
    stack: list[str]
    overload_name: str
    is_user_annotation: bool
    use_device: str | None = None
    is_async = is_remote = is_legacy = False
    node_id = -1
    device_time: float = 0.0
    device_time_total: float = 0.0
    self_device_time_total: float = 0.0
    device_memory_usage = self_device_memory_usage = 0
    cuda_time: float = 0.0
    cuda_time_total: float = 0.0
    self_cuda_time_total: float = 0.0

    @property
    def cpu_time(self) -> float:
        """Mean time of one call, including inner calls."""
        return self.cpu_time_total / self.count if self.count else 0.0


@dataclass(slots=True, eq=False)
class FunctionEvent(_Times):
    """One call of an operator, one node of a backward, or one named block.

    Attributes
    ----------
    id
        Number of the event.
    name, overload_name
        ``aten::add`` and ``Tensor``; together the full name of an operator.
    thread
        Number of the thread.
    time_range
        Start and end time, including the profiler's overhead.
    cpu_time_total, self_cpu_time_total
        Microseconds with and without inner calls, excluding the profiler's overhead.
    cpu_memory_usage, self_cpu_memory_usage
        Bytes of created minus freed tensors, with and without inner calls.
    cpu_parent, cpu_children
        The outer event, and the inner events.
    details
        Other recorded data.
    """

    id: int
    name: str
    overload_name: str
    thread: int
    time_range: Interval
    cpu_time_total: float
    self_cpu_time_total: float
    cpu_memory_usage: int
    self_cpu_memory_usage: int
    is_user_annotation: bool
    details: Details
    cpu_parent: FunctionEvent | None = None
    cpu_children: list[FunctionEvent] = field(default_factory=list)
    count = 1

    @property
    def key(self) -> str:  # type: ignore[override]
        """Key of `key_averages`: the name, or one common name for all steps of a profile."""
        return _STEPS + "*" if self.name.startswith(_STEPS + "#") else self.name

    @property
    def trace_name(self) -> str:
        """The name."""
        return self.name

    @property
    def input_shapes(self) -> list[Any]:
        """The shapes of the arguments; empty for other objects."""
        return self.details.shapes

    @property
    def concrete_inputs(self) -> list[Any]:
        """The arguments; None for tensors."""
        return self.details.concrete

    @property
    def flops(self) -> int:  # type: ignore[override]
        """Number of floating-point operations; 0 if unknown."""
        return self.details.flops

    @property
    def stack(self) -> list[str]:  # type: ignore[override]
        """``file(line): function`` of the program's frames, innermost first."""
        return self.details.stack

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time:.3f}us "
            f"start_us={self.time_range.start:.3f} end_us={self.time_range.end:.3f} "
            f"cpu_children={[each.id for each in self.cpu_children]} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>"
        )


@dataclass(slots=True, eq=False)
class FunctionEventAvg(_Times):
    """The sum of all calls of one operator.

    Attributes
    ----------
    key
        Name of the operator.
    count
        Number of calls.
    input_shapes, stack
        Shapes and stack, if events are grouped by them.
    """

    key: str
    overload_name: str = ""
    input_shapes: Any = ""
    stack: list[str] = field(default_factory=list)
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    cpu_memory_usage: int = 0
    self_cpu_memory_usage: int = 0
    flops: int = 0
    is_user_annotation: bool = False

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Add a call, or the calls of another."""
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.cpu_memory_usage += other.cpu_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage
        self.flops += other.flops
        self.is_user_annotation = other.is_user_annotation
        return self

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total:.3f}us "
            f"cpu_time={self.cpu_time:.3f}us input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage}>"
        )


def events_of(spans: Iterable[Span], observation: Observation, began: int) -> list[FunctionEvent]:
    """Return an event for every span, each before those inside.

    Parameters
    ----------
    spans
        The outermost spans. A redispatch is not an event; its inner calls belong to its caller.
    observation
        The recorded observation.
    began
        Start of the profile, by the clock of the spans.
    """
    found: list[FunctionEvent] = []
    for span in spans:
        _add(found, span, None, observation, began)
    return found


def _add(
    found: list[FunctionEvent],
    span: Span,
    parent: FunctionEvent | None,
    observation: Observation,
    began: int,
) -> None:
    if span.kind == "redispatch":
        event = parent
        if parent is not None:
            _count_memory(parent, span, observation)
    else:
        named = span.kind == "annotation"
        name, _, overload = (span.name, "", "") if named else span.name.partition(".")
        event = FunctionEvent(
            id=len(found) + 1,
            name=name,
            overload_name=overload,
            thread=span.thread,
            time_range=Interval(
                (span.start_ns - began) / _MICROSECOND, (span.end_ns - began) / _MICROSECOND
            ),
            cpu_time_total=span.time_ns / _MICROSECOND,
            self_cpu_time_total=span.time_ns / _MICROSECOND,
            cpu_memory_usage=0,
            self_cpu_memory_usage=0,
            is_user_annotation=named,
            details=observation.details.get(span) or Details(),
            cpu_parent=parent,
        )
        found.append(event)
        if parent is not None:
            parent.cpu_children.append(event)
            parent.self_cpu_time_total = max(0.0, parent.self_cpu_time_total - event.cpu_time_total)
        _count_memory(event, span, observation)
    for child in span.children:
        _add(found, child, event, observation, began)


def _count_memory(event: FunctionEvent, span: Span, observation: Observation) -> None:
    """Give what a span made and freed to its event, and to those around it."""
    if observation.memory is None:
        return
    size = observation.memory.bytes.get(span, 0)
    event.self_cpu_memory_usage += size
    around: FunctionEvent | None = event
    while around is not None:
        around.cpu_memory_usage += size
        around = around.cpu_parent
