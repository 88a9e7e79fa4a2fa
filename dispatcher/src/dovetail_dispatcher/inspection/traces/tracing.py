"""Trace: every operator call of this task while it is on, as a tree of spans.

The routes of traced calls are composed like any others, under a bit of the dispatch state, with
recording around them. So a trace sees what goes through the dispatcher, wherever it is called from,
and costs nothing while it is off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter_ns
from typing import Any, Final, Self, TypeVar

from dovetail_kernel import (
    DispatchKeySet,
    DispatchState,
    Guard,
    TensorBase,
    dispatch_state,
    set_state,
    state,
)
from dovetail_kernel.errors import INTERNAL_PACKAGES, where
from dovetail_kernel.keys import tracing_off, tracing_on

from ...calls.plan import CallFunction, RoutePlan, Value, argument_value
from ...calls.plans.tensor_plans import equals_default
from ...calls.printer import build
from ...sockets import TRACE_LAYER
from ...table.operator import Operator
from ..argument_keys import describe_arguments, describe_value
from ..decisions import decide
from ..notebook_trees import InNotebooks
from .chrome_traces import chrome_trace
from .kernel_names import ask_backends, listen, stop_listening, why_unknown
from .spans import (
    CALL,
    NODE,
    REDISPATCH,
    CallSpan,
    Observer,
    Span,
    duration_text,
    of_both,
    open_span,
)

T = TypeVar("T")

_LONGEST_VALUE: Final = 40
_SKIPPED: Final = (
    *INTERNAL_PACKAGES,
    "dovetail_aten",
    "dovetail_autograd",
    "dovetail_cpu",
    "dovetail_cuda",
)


class Trace(InNotebooks, Guard):
    """Context manager that records every operator call of this thread and task; a tree of spans
    afterwards.

    Parameters
    ----------
    observer
        Looks at the values of every span. Default: nothing does.

    Attributes
    ----------
    spans
        The outermost spans, in order. Backward shows as nodes, with the calls of their formulas
        inside.
    unknown
        Why launches of some backend are not noted; None if they are, and before the trace ends.

    Notes
    -----
    Threads and tasks that are started inside with a copy of the context are recorded as well. While
    a trace is on, backward runs the bodies of formulas that are written with operators, never those
    over arrays.

    Raises
    ------
    RuntimeError
        On entering one that is recording already.
    """

    def __init__(self, observer: Observer | None = None) -> None:
        self._observer = observer
        self._root = Span("trace", "trace")
        self.unknown: str | None = None

    @property
    def spans(self) -> list[Span]:
        """The outermost spans."""
        return self._root.children

    @property
    def launches(self) -> list[str]:
        """Names of the kernels that were handed to devices: those of no call, then span by span."""
        return [*self._root.launches, *(name for _, each in self.walk() for name in each.launches)]

    @property
    def time_ns(self) -> int:
        """Time between entering and leaving, without what the trace itself cost."""
        return self._root.time_ns

    def save(self) -> Any:
        """Return the open span, and whether calls are traced."""
        if self._saved is not None:
            raise RuntimeError(
                "this trace is recording already. Make another: 'with trace() as inner:'."
            )
        return open_span.get(), dispatch_state().traced

    def change(self) -> Self:
        """Open a new outermost span."""
        root = self._root = Span("trace", "trace")
        outer = open_span.get()
        around = None if outer is None else outer.observer
        root.observer = of_both(around, self._observer)
        listen(root)
        open_span.set(root)
        set_state(tracing_on(state()))
        root.start_ns = perf_counter_ns()
        return self

    def restore(self, saved: Any) -> None:
        """Close the outermost span, and give what is in it to the one around it."""
        root, (outer, was_traced) = self._root, saved
        root.end_ns = root.end_ns or perf_counter_ns()
        if not was_traced:
            set_state(tracing_off(state()))
        open_span.set(outer)
        self.unknown = why_unknown() or self.unknown
        stop_listening(root)
        if outer is not None and root.children and root.children[0] not in outer.children:
            outer.children += root.children
            outer.launches += root.launches
            outer.overhead_ns += root.overhead_ns

    def walk(self) -> Iterator[tuple[int, Span]]:
        """Yield every span with its depth, each before those inside it."""
        pending = [(0, span) for span in reversed(self.spans)]
        while pending:
            depth, span = pending.pop()
            yield depth, span
            pending += [(depth + 1, child) for child in reversed(span.children)]

    def calls(self, name: str | None = None) -> list[CallSpan]:
        """Return all operator calls, redispatches included, outer before inner.

        Parameters
        ----------
        name
            Only those of this operator: ``"aten::add"`` for all overloads, ``"aten::add.Tensor"``
            for one.
        """
        found = [span for _, span in self.walk() if isinstance(span, CallSpan)]
        return [
            span
            for span in found
            if name is None or name in (span.name, span.name.partition(".")[0])
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the whole trace as plain dicts, lists and strings."""
        return {"time_ns": self.time_ns, "spans": [span.as_dict() for span in self.spans]}

    def as_json(self, indent: int | None = None) -> str:
        """Return the whole trace as JSON text."""
        import json

        return json.dumps(self.as_dict(), indent=indent)

    def as_chrome_trace(self) -> dict[str, Any]:
        """Return the trace in the Trace Event Format, for chrome://tracing, Perfetto or speedscope.

        Times are those of the clock, so that inner spans lie in outer ones; ``args`` has the time
        without overhead.
        """
        return chrome_trace([span for _, span in self.walk()], self._root.start_ns)

    def as_text(self, *, keys: bool = False) -> str:
        """Return the tree as plain text.

        Parameters
        ----------
        keys
            With the keys of each argument, and what the state adds and takes. Default: False.
        """
        return _text_of(self, keys)

    def headline(self) -> str:
        """Return one line for people: how many spans there are, and launches if any."""
        launches = len(self.launches)
        text = f"trace: {len(self)} spans{f', {launches} launches' if launches else ''}"
        return text if self.unknown is None else f"{text}; {self.unknown}"

    def __str__(self) -> str:
        return self.as_text()

    def __len__(self) -> int:
        return sum(1 for _ in self.walk())

    def __repr__(self) -> str:
        return f"<trace of {len(self)} spans, {duration_text(self.time_ns)}>"


def record(
    span: Span,
    parent: Span,
    began: int,
    given: Sequence[object],
    function: Callable[..., object],
    *args: Any,
) -> Any:
    """Call ``function(*args)`` as `span` inside `parent`.

    Parameters
    ----------
    began
        When the work of the trace on this span began.
    given
        The values that an observer sees.
    """
    if parent.kind == "trace":
        span.called_at = where(_SKIPPED)
    parent.children.append(span)
    observer = span.observer = parent.observer
    result = None
    try:
        open_span.set(span)
        if observer is not None:
            observer.opened(span, given)
        span.start_ns = perf_counter_ns()
        result = function(*args)
        span.end_ns = perf_counter_ns()
        span.results = _described(result)
        return result
    except BaseException as error:
        span.end_ns = perf_counter_ns()
        span.error = f"{type(error).__name__}: {error}"
        raise
    finally:
        if observer is not None:
            observer.closed(span, result)
        open_span.set(parent)
        parent.overhead_ns += perf_counter_ns() - began - span.time_ns


def record_calls(function: Callable[[], object]) -> tuple[list[Span], str | None]:
    """Call `function` and return the outermost spans, which no open trace gets; and type and text
    of the exception that ended it, None if none did.
    """
    root = Span("calls", "trace")
    outer, before = open_span.get(), state()
    try:
        open_span.set(root)
        set_state(tracing_on(before))
        function()
    except Exception as error:
        return root.children, f"{type(error).__name__}: {error}"
    finally:
        try:
            set_state(before)
        finally:
            open_span.set(outer)
    return root.children, None


def untraced(function: Callable[..., T], *args: Any) -> T:
    """Return ``function(*args)``, which no trace records."""
    before = state()
    try:
        set_state(tracing_off(before))
        return function(*args)
    finally:
        set_state(before)


def record_node(
    name: str, grads: Sequence[object], function: Callable[..., object], *args: Any
) -> Any:
    """Call ``function(*args)``, which runs the node `name` of the graph on `grads`, as a span of
    the open trace.
    """
    began = perf_counter_ns()
    parent = open_span.get()
    if parent is None:
        return function(*args)
    return record(Span(name, NODE, _described(grads)), parent, began, grads, function, *args)


def trace_layer(
    compose: Callable[[], RoutePlan],
    op: Operator,
    key: int,
    now: DispatchState,
    keys: DispatchKeySet | None,
) -> RoutePlan:
    """Return the plan that records the call and runs the plan that `compose` returns.

    A call that has no kernel is recorded, too, before it raises.

    Parameters
    ----------
    op, key, now, keys
        The call, as for `decide`.
    """
    began = perf_counter_ns()
    ask_backends()
    decision = decide(op, key, now, keys)
    try:
        inner = build(compose())
    except (NotImplementedError, RuntimeError):

        def inner(*args: Any) -> Any:
            return build(compose())(*args)  # raises, with a traceback of this call

    kind = CALL if keys is None else REDISPATCH

    def route(*args: Any) -> Any:
        began = perf_counter_ns()
        parent = open_span.get()
        if parent is None:  # the state was carried to another thread, the trace was not
            return inner(*args)
        span = CallSpan(decision, kind, describe_arguments(op, args), _options(op, args))
        return record(span, parent, began, args, inner, *args)

    waiting = open_span.get()
    if waiting is not None:
        waiting.overhead_ns += perf_counter_ns() - began
    arguments = tuple([argument_value(argument) for argument in op.schema.arguments])
    result = Value("result")
    return RoutePlan(op, (CallFunction(route, arguments, result),), (result,))


TRACE_LAYER.fill(trace_layer)


def _text_of(trace: Trace, keys: bool) -> str:
    lines = [trace.headline()]
    last_at: list[bool] = []  # per depth whether the span there is the last of its parent
    siblings = {
        id(span): position for position, span in enumerate(trace.spans, 1 - len(trace.spans))
    }
    for depth, span in trace.walk():
        siblings.update(
            (id(child), position)
            for position, child in enumerate(span.children, 1 - len(span.children))
        )
        del last_at[depth:]
        indent = "".join("   " if last else "│  " for last in last_at)
        last_at.append(siblings[id(span)] == 0)
        below = indent + ("   " if last_at[-1] else "│  ") + ("│ " if span.children else "  ")
        lines.append(
            f"{indent}{'└─' if last_at[-1] else '├─'} {span.headline()}  {span.duration()}"
        )
        lines += [f"{below}{line}" for line in span.details(keys=keys)]
    return "\n".join(lines)


def _options(op: Operator, values: Sequence[Any]) -> dict[str, str]:
    """Return the arguments of a call that are not tensors and not their defaults, as text."""
    return {
        argument.name: _shortened(repr(value))
        for argument, value in zip(op.schema.arguments, values, strict=True)
        if not argument.is_tensor_like and not equals_default(argument, value)
    }


def _described(result: object) -> tuple[str, ...]:
    if result is None:
        return ()
    several = result if isinstance(result, list | tuple) else (result,)
    return tuple(
        [describe_value(v) if isinstance(v, TensorBase) else _shortened(repr(v)) for v in several]
    )


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
