"""A KeyboardInterrupt finds everything entered or left, never in between: guards, modes, backward,
registration, transforms.

`DOVETAIL_PROGRAMS=all` tries every instant of every program, else it is how many of each are tried.
"""

from __future__ import annotations

import os
import random
import signal
import warnings
from contextvars import copy_context
from typing import Any

import pytest
from interrupt_programs import AT_ONCE, PROGRAMS, cleanup
from interrupts import Interrupter, differences, held_locks, instants, snapshot

import dovetail

TRIED = os.environ.get("DOVETAIL_PROGRAMS", "4")
SEED = int(os.environ.get("DOVETAIL_FIRST_PROGRAM", "0"))


def works() -> bool:
    """Run a program that needs grad mode, routes and the engine as they ought to be."""
    x = dovetail.ones(2, requires_grad=True)
    (x * x).sum().backward()
    return x.grad is not None and x.grad.tolist() == [2.0, 2.0]


def interrupted(name: str, at: int) -> list[str]:
    """Interrupt a program at an instant, and say what is different afterwards."""
    before = snapshot()
    interrupter = Interrupter(at, at_once=name.removesuffix(" twice") in AT_ONCE)
    interrupter.run(PROGRAMS[name])
    cleanup()
    found = differences(before, snapshot()) + [f"{each} is held" for each in held_locks()]
    if not works():
        found.append("a backward gives a wrong gradient")
    return [f"{interrupter.where}: {each}" for each in found]


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_interrupt_at_any_instant_leaves_what_was_there_before(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            copy_context().run(PROGRAMS[name])
        count = copy_context().run(instants, PROGRAMS[name])
        tried: Any = range(count)
        if TRIED != "all" and int(TRIED) < count:
            tried = random.Random(f"{name} {SEED}").sample(tried, int(TRIED))
        found = [each for at in tried for each in copy_context().run(interrupted, name, at)]
    assert not found, "\n".join(found)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers that send signals")
@pytest.mark.parametrize(
    "name", ["nested_modes", "scoped_override", "backward_of_a_function", "transformed_vmap_grad"]
)
def test_signals_at_random_instants_leave_what_was_there_before(name: str) -> None:
    rng = random.Random(SEED)
    times = 25 if TRIED != "all" else 2000
    program = PROGRAMS[name]
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            copy_context().run(program)
            for _ in range(times):
                copy_context().run(_signalled, program, rng.uniform(1e-5, 3e-3))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _signalled(program: Any, delay: float) -> None:
    before, last = snapshot(), None
    try:
        signal.setitimer(signal.ITIMER_REAL, delay)
        program()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt as interrupt:
        last = interrupt.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
    cleanup()
    code = None if last is None else last.tb_frame.f_code.co_name
    if code not in ("__exit__", "_signalled"):  # the one instant that no library can mend
        assert not differences(before, snapshot())
        assert not held_locks()
        assert works()


def test_an_interrupted_backward_leaves_grad_mode_and_the_error_state_of_numpy() -> None:
    import numpy as np

    x = dovetail.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.register_hook(lambda grad: (_ for _ in ()).throw(KeyboardInterrupt))
    with np.errstate(divide="raise"), pytest.raises(KeyboardInterrupt):
        y.backward()
    assert dovetail.is_grad_enabled()
    assert np.geterr()["divide"] == "warn"
    assert works()
