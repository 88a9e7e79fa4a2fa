"""Spans: what a trace records of one operator call, or of one node that backward runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextvars import ContextVar
from threading import get_ident
from typing import Any, Final

from ...table.kernels import FORMULA
from ...table.source_locations import short_place
from ..argument_keys import ArgumentKeys, describe_value
from ..decisions import Decision

CALL: Final = "call"
"""Kind of a span: an operator was called."""
REDISPATCH: Final = "redispatch"
"""A kernel handed its operator on to other keys."""
NODE: Final = "node"
"""Backward ran a node of the graph."""
ANNOTATION: Final = "annotation"
"""The program named a part of itself."""


class Observer:
    """Looks at the values of every span of a trace, when it begins and when it ends.

    Its own time does not count for any span. The methods do nothing; a subclass says what they do.
    """

    def opened(self, span: Span, given: Sequence[object]) -> None:
        """Take the arguments of a call, or the gradients that a node gets."""

    def closed(self, span: Span, result: object) -> None:
        """Take what was returned; None if an exception ended it."""


class _Nested(Observer):
    """Two observers of one span: that of the trace around it, and its own inside that."""

    def __init__(self, outer: Observer, inner: Observer) -> None:
        self._outer = outer
        self._inner = inner

    def opened(self, span: Span, given: Sequence[object]) -> None:
        """Tell both, the outer one first."""
        self._outer.opened(span, given)
        self._inner.opened(span, given)

    def closed(self, span: Span, result: object) -> None:
        """Tell both, the inner one first."""
        self._inner.closed(span, result)
        self._outer.closed(span, result)


def of_both(outer: Observer | None, inner: Observer | None) -> Observer | None:
    """Return the observer of a trace inside another one, which gets its spans, too."""
    if outer is None or inner is None or outer is inner:
        return inner or outer
    return _Nested(outer, inner)


class Span:
    """Something that took time, and the spans inside.

    Attributes
    ----------
    name
        ``"aten::add.Tensor"``, or the name of a node.
    kind
        "call", "redispatch", "node" or "annotation".
    given
        What came in, in a few words each.
    results
        What was returned, in a few words each.
    called_at
        ``file:line`` of the user's code, for outermost spans; else None.
    error
        Type and text of the exception that ended it; None if none did.
    children
        What it called, in order.
    launches
        Names of the kernels that it handed to a device, in order, without those of its children;
        of backends that tell them.
    start_ns, end_ns
        Times of a clock without meaning of its own. The difference includes the work of the trace
        itself.
    overhead_ns
        How much of that is the trace's.
    thread
        Number of the thread.
    observer
        Looks at the values of the spans inside; None if nothing does.
    """

    __slots__ = (
        "called_at",
        "children",
        "end_ns",
        "error",
        "given",
        "kind",
        "launches",
        "name",
        "observer",
        "overhead_ns",
        "results",
        "start_ns",
        "thread",
    )

    def __init__(self, name: str, kind: str, given: Sequence[str] = ()) -> None:
        self.name = name
        self.kind = kind
        self.given = tuple(given)
        self.results: tuple[str, ...] = ()
        self.called_at: str | None = None
        self.error: str | None = None
        self.children: list[Span] = []
        self.launches: list[str] = []
        self.start_ns = self.end_ns = self.overhead_ns = 0
        self.thread = get_ident()
        self.observer: Observer | None = None

    @property
    def time_ns(self) -> int:
        """How long it took, without what the trace cost."""
        return max(0, self.end_ns - self.start_ns - self.overhead_ns)

    def headline(self) -> str:
        """Return one line for people: ``aten::mm(float32[2, 3], float32[3, 4]) → float32[2,
        4]``.
        """
        name = self.name.removeprefix("dovetail::autograd::")
        text = f"{name}({', '.join(map(_brief, self._inside()))})"
        if self.results:
            text += f" → {', '.join(map(_brief, self.results))}"
        return f"redispatch {text}" if self.kind == REDISPATCH else text

    def duration(self) -> str:
        """Return how long it took, for people: ``12.3 µs``."""
        return duration_text(self.time_ns)

    def details(self, *, keys: bool = False) -> list[str]:
        """Return the lines that stand under the headline: the kernels, and where it was called.

        Parameters
        ----------
        keys
            With the keys of each argument, and what the state adds and takes. Default: False.
        """
        lines = [] if self.called_at is None else [f"called at {short_place(self.called_at)}"]
        lines += self._kernels(keys)
        if self.launches:
            lines.append(f"launches {brief_launches(self.launches)}")
        if self.error is not None:
            lines.append(f"raised {self.error.splitlines()[0]}")
        return lines

    def _inside(self) -> Sequence[str]:
        return self.given

    def _kernels(self, keys: bool) -> list[str]:
        return []

    def as_dict(self) -> dict[str, Any]:
        """Return the span, and those inside, as plain dicts, lists and strings."""
        return {
            "name": self.name,
            "kind": self.kind,
            "given": list(self.given),
            "results": list(self.results),
            "called_at": self.called_at,
            "error": self.error,
            "launches": list(self.launches),
            "time_ns": self.time_ns,
            "start_ns": self.start_ns,
            "end_ns": self.end_ns,
            "thread": self.thread,
            "children": [child.as_dict() for child in self.children],
        }

    def __repr__(self) -> str:
        return f"<{self.kind} of {self.name}, {self.duration()}>"


open_span: Final[ContextVar[Span | None]] = ContextVar("dovetail_open_span", default=None)
"""The span that this task is in; None outside traces."""


class CallSpan(Span):
    """A call or redispatch of an operator.

    Attributes
    ----------
    decision
        Which kernels it went through, and why.
    arguments
        Its tensors and their keys.
    options
        The other arguments that differ from their defaults, as text.
    """

    __slots__ = ("arguments", "decision", "options")

    def __init__(
        self,
        decision: Decision,
        kind: str,
        arguments: tuple[ArgumentKeys, ...],
        options: dict[str, str],
    ) -> None:
        texts = [f"{a.name}: {a.value}" for a in arguments] + [
            f"{name}={text}" for name, text in options.items()
        ]
        super().__init__(decision.operator, kind, texts)
        self.decision = decision
        self.arguments = arguments
        self.options = options

    def as_dict(self) -> dict[str, Any]:
        """Return the call, and what it called, as plain dicts, lists and strings."""
        arguments = [
            {"name": a.name, "value": a.value, "keys": list(a.keys)} for a in self.arguments
        ]
        own = {"arguments": arguments, "options": self.options, "decision": self.decision.as_dict()}
        return {**super().as_dict(), **own}

    def _inside(self) -> Sequence[str]:
        given = [a.value for a in self.arguments if a.value != describe_value(None)]
        return given + [f"{name}={text}" for name, text in self.options.items()]

    def _kernels(self, keys: bool) -> list[str]:
        decision = self.decision
        lines = []
        if keys:
            lines += [
                f"{a.name}: {a.value}: {', '.join(a.keys) or 'no keys'}" for a in self.arguments
            ]
            excluded = [
                key
                for key in decision.excluded
                if key in decision.merged or key in decision.included
            ]
            lines += [
                f"keys of the arguments: {', '.join(decision.merged) or 'none'}",
                f"+ included: {', '.join(decision.included) or 'none'}",
                f"- excluded: {', '.join(excluded) or 'none'}",
                f"- fallen through: {', '.join(decision.fallthrough) or 'none'}",
                f"= {', '.join(decision.keys) or 'none'}, of which the highest is "
                f"{decision.chosen}",
            ]
        for step in decision.chain:
            if step.convention == FORMULA and not (decision.records_graph or keys):
                continue
            whose = f" ({step.distribution})" if step.distribution else ""
            whose += f", if {step.condition}" if step.condition else ""
            lines.append(
                f"{step.key}: {step.kernel.rpartition('.')[2]} at {short_place(step.source)}{whose}"
            )
        return lines


def duration_text(time_ns: float) -> str:
    """Return a time for people: ``12.3 µs``, ``4.5 ms``."""
    return f"{time_ns / 1e3:.1f} µs" if time_ns < 1e6 else f"{time_ns / 1e6:.1f} ms"


def brief_launches(names: Sequence[str]) -> str:
    """Return names of kernels with how often each is launched where that is more than once."""
    return ", ".join(
        f"{count} × {name}" if count > 1 else name for name, count in Counter(names).items()
    )


def _brief(text: str) -> str:
    """Return a description without device and requires_grad, and a number without its class."""
    return text.partition(" on ")[0].partition(" (")[0]
