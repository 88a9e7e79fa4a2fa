"""Parts of a program that it names itself, as spans of the open trace."""

from __future__ import annotations

from time import perf_counter_ns
from typing import Any

from dovetail_kernel import Guard

from .spans import ANNOTATION, Span, open_span


class Annotation(Guard):
    """Context manager that makes a block a span of the open trace; does nothing outside traces.

    Parameters
    ----------
    name
        What the span is called.
    """

    variables = (open_span,)

    def __init__(self, name: str) -> None:
        self.name = name

    def save(self) -> Any:
        """Return the span around the block, and that of the block, made now."""
        parent = open_span.get()
        if parent is None:
            return None, None
        span = Span(self.name, ANNOTATION)
        span.observer = parent.observer
        return parent, span

    def change(self) -> Annotation:
        """Open the span."""
        parent, span = self._saved[0]  # type: ignore[index]
        if parent is not None:
            parent.children.append(span)
            open_span.set(span)
            if span.observer is not None:
                span.observer.opened(span, ())
            span.start_ns = perf_counter_ns()
        return self

    def restore(self, saved: Any) -> None:
        """Close the span."""
        parent, span = saved
        if parent is not None and not span.end_ns:
            span.end_ns = perf_counter_ns()
            if span.observer is not None:
                span.observer.closed(span, None)
            # What the trace did inside is no time of what is around the block either.
            parent.overhead_ns += span.overhead_ns
            if open_span.get() is span:  # else the trace ended inside the block
                open_span.set(parent)
