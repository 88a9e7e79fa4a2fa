"""Schedules of recorded steps."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum


class ProfilerAction(Enum):
    """Action of a profile during a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """Return the schedule of a profile: cycles of skipped, warm-up and recorded steps.

    Parameters
    ----------
    wait, warmup, active
        Number of steps of each kind in a cycle, in this order. Data recorded during warm-up are
        discarded.
    repeat
        Number of cycles. Default: 0, unlimited.
    skip_first
        Number of steps to skip before the first cycle. Default: 0.
    skip_first_wait
        If not 0, the first cycle starts without `wait`. Default: 0.

    Raises
    ------
    AssertionError
        For negative numbers, or if there is no active step.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} "
            f"(need >= 0), active={active} (need > 0), repeat={repeat} (need >= 0), "
            f"skip_first={skip_first} (need >= 0)."
        )

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        cycle, place = divmod(step, wait + warmup + active)
        if (repeat and cycle >= repeat) or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        last = place == wait + warmup + active - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD

    return action
