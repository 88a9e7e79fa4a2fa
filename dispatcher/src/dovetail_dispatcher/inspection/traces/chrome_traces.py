"""Traces in the Trace Event Format, for chrome://tracing, Perfetto or speedscope."""

from __future__ import annotations

from collections.abc import Iterable
from os import getpid
from typing import Any

from .spans import CallSpan, Span


def chrome_trace(spans: Iterable[Span], start_ns: int) -> dict[str, Any]:
    """Return what a file of that format holds.

    Parameters
    ----------
    spans
        All spans, also those inside others.
    start_ns
        The time from which times are counted.
    """
    process = getpid()
    named = {
        "ph": "M",
        "name": "process_name",
        "pid": process,
        "tid": 0,
        "args": {"name": "dovetail"},
    }
    events = [
        {
            "ph": "X",
            "name": span.name,
            "cat": span.kind,
            "ts": (span.start_ns - start_ns) / 1e3,
            "dur": (span.end_ns - span.start_ns) / 1e3,
            "pid": process,
            "tid": span.thread,
            "args": _facts_of(span),
        }
        for span in spans
    ]
    return {"traceEvents": [named, *events], "displayTimeUnit": "ns"}


def _facts_of(span: Span) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "given": list(span.given),
        "results": list(span.results),
        "time_us": span.time_ns / 1e3,
    }
    if span.called_at is not None:
        facts["called_at"] = span.called_at
    if span.error is not None:
        facts["error"] = span.error
    if span.launches:
        facts["launches"] = list(span.launches)
    if isinstance(span, CallSpan):
        facts["keys"] = list(span.decision.keys)
        facts["kernels"] = [f"{s.key}: {s.kernel} at {s.source}" for s in span.decision.chain]
    return facts
