"""Time rows on both sides, in turns.

The sides take turns in short rounds, so that a change of the machine's speed hits both; the ratio
is the median of the rounds' ratios. With one thread, time is the processor time of this thread, so
that other programs disturb little. The garbage collector stays on; what exists is frozen before.
"""

from __future__ import annotations

import contextlib
import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

from .row import Row, Run

PAUSE = 3e-3
"""Seconds between two turns where threads of either side may spin: until they sleep."""

ROUND = 1.5e-3
"""Seconds that a round of one side takes, for calls that are shorter."""


def guard(lib: Any, mode: str) -> Any:
    """Return what is entered around the calls of a round."""
    if mode == "no_grad":
        return lib.no_grad()
    return lib.inference_mode() if mode == "inference" else contextlib.nullcontext()


def seconds(lib: Any, row: Row, run: Run, calls: int, clock: Callable[[], float]) -> float:
    """Return the time of one call, as the mean of `calls`."""
    with guard(lib, row.mode):
        begin = clock()
        for _ in range(calls):
            run()
        return (clock() - begin) / calls


def wait(duration: float) -> None:
    """Wait without sleeping: a processor that has slept is slow at first."""
    end = time.perf_counter() + duration
    while time.perf_counter() < end:
        pass


def measure(
    row: Row, libraries: dict[str, Any], rounds: int, clock: Callable[[], float], switch: Any = None
) -> dict[str, Any]:
    """Return the row's medians in microseconds per unit, and the ratio of the first side to the
    second with its quartiles; what a side raised is in ``failed``.

    `switch`, if given, is called with the name of a side before its turn.
    """
    made: dict[str, Any] = {
        "group": row.group,
        "family": row.family,
        "name": row.name,
        "mode": row.mode,
    }
    turn = switch or (lambda name: None)
    runs: dict[str, Run] = {}
    calls: dict[str, int] = {}
    for name, lib in libraries.items():
        turn(name)
        try:
            with guard(lib, row.mode):
                runs[name] = row.make(lib)
            seconds(lib, row, runs[name], 3, clock)
            once = min(seconds(lib, row, runs[name], 1, clock) for _ in range(3))
            many = max(1, min(200, int(ROUND / 4 / max(once, 1e-7))))
            once = seconds(lib, row, runs[name], many, clock)
        except Exception as error:
            made["failed"] = f"{name}: {type(error).__name__}: {str(error).splitlines()[:1]}"
            return made
        calls[name] = max(1, min(5000, int(ROUND / max(once, 1e-7))))
    gc.collect()
    gc.freeze()
    times: dict[str, list[float]] = {name: [] for name in libraries}
    for index in range(rounds):
        order = list(libraries.items())
        for name, lib in order if index % 2 else reversed(order):
            turn(name)
            if clock is not time.thread_time:
                wait(PAUSE)
            spent = seconds(lib, row, runs[name], calls[name], clock)
            times[name].append(spent / row.per * 1e6)
    gc.unfreeze()
    for name, values in times.items():
        made[name] = statistics.median(values)
    if len(libraries) == 2:
        ours, theirs = times.values()
        ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
        made["ratio"] = statistics.median(ratios)
        made["quartiles"] = statistics.quantiles(ratios, n=4) if rounds > 1 else ratios * 3
    return made


def clock_for(threads: int) -> Callable[[], float]:
    """Return the processor time of this thread for one thread, else the time of the wall."""
    return time.thread_time if threads == 1 else time.perf_counter
