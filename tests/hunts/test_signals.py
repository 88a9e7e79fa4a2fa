"""Signals at random instants of training, registration and loading of plugins: afterwards the state
of the process is what it was, no lock is held, and the same work gives the same.
"""

from __future__ import annotations

import gc
import random
import signal
import sys
import time
import warnings
from contextvars import copy_context
from traceback import walk_tb
from types import CodeType
from typing import Any

import pytest
from interrupt_programs import cleanup
from interrupted_work import RESULTS, WORK, Work
from interrupts import differences, held_locks, is_ours, snapshot
from oracle.sharing import seeds


def signalled(work: Work, delay: float) -> list[tuple[CodeType, int]]:
    """Do some work with a signal after `delay` seconds; return the frames in which it came."""
    try:
        signal.setitimer(signal.ITIMER_REAL, delay)
        work()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt as interrupt:
        return [(each.f_code, line) for each, line in walk_tb(interrupt.__traceback__)]
    return []


def is_left_by_the_program(frames: list[tuple[CodeType, int]]) -> bool:
    """Return whether a guard of the program itself was about to be left, which no library mends."""
    *_, (outer, _), (inner, _) = frames
    return inner.co_name == "__exit__" and not is_ours(outer.co_filename)


def trial(kind: type[Work], delay: float, before: Any) -> tuple[bool, list[str]]:
    """Interrupt one piece of work; return whether the signal came, and what it left behind."""
    work = kind()
    frames = signalled(work, delay)
    if len(frames) > 1 and is_left_by_the_program(frames):
        work.close()
        cleanup()
        return True, []
    where = f"{frames[-1][0]}, at line {frames[-1][1]}" if frames else "no signal"
    found = [f"{each} is held" for each in held_locks()]
    try:
        work.resume()
    except Exception as error:
        found.append(f"the work again raises {type(error).__name__}: {error}")
    work.close()
    cleanup()
    found += differences(before, snapshot())
    return bool(frames), [f"{where}: {each}" for each in found]


def duration(kind: type[Work]) -> float:
    """Return how long the quickest of five takes; note what the work returns."""
    took = []
    for _ in range(5):
        work = kind()
        start = time.perf_counter()
        RESULTS[kind] = work()
        took.append(time.perf_counter() - start)
        work.close()
        cleanup()
    return min(took)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers that send signals")
@pytest.mark.parametrize("kind", WORK, ids=lambda kind: kind.__name__)
def test_signals_at_random_instants_leave_what_was_there_before(
    kind: type[Work], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = seeds(f"signals in {kind.__name__}", 30)
    lost: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lost.append)
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    gc.disable()  # at a collection a signal would go to the callbacks of other tools
    came, wrong = 0, []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            most = copy_context().run(duration, kind)
            before = copy_context().run(snapshot)
            for seed in tried:
                delay = random.Random(seed).uniform(1e-6, most)
                has_come, found = copy_context().run(trial, kind, delay, before)
                came += has_come
                wrong += found
                if seed % 500 == 0:
                    gc.collect()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        gc.enable()
    print(f"{came} signals came out of {kind.__name__}, {len(lost)} were lost in finalizers")
    assert not wrong, "\n".join(wrong)
    assert came > len(tried) // 4 - 10
