"""One recording period of a program: the trace, the recorded data, and the events."""

from __future__ import annotations

from time import perf_counter_ns
from typing import Any

from dovetail_dispatcher import Trace

from .event_list import EventList
from .events import events_of
from .observation import Observation


class Recording:
    """A trace that is started and stopped, and its events.

    Parameters
    ----------
    shapes, memory, flops, stack
        What to record besides time.
    """

    def __init__(self, *, shapes: bool, memory: bool, flops: bool, stack: bool) -> None:
        self._observation = Observation(shapes=shapes, memory=memory, flops=flops, stack=stack)
        self._options: dict[str, Any] = {"profile_memory": memory, "with_flops": flops}
        self._trace = Trace(self._observation)
        self._began = 0
        self._events: EventList | None = None

    def start(self) -> None:
        """Start recording."""
        self._began = perf_counter_ns()
        self._trace.__enter__()

    def stop(self) -> None:
        """Stop recording."""
        self._trace.__exit__(None, None, None)
        if self._observation.memory is not None:
            self._observation.memory.stop()

    def events(self) -> EventList:
        """Return the events, which are created on first access."""
        if self._events is None:
            found = events_of(self._trace.spans, self._observation, self._began)
            self._events = EventList(found, **self._options)
        return self._events
