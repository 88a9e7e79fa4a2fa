"""Combinations of schedules."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from .plateau import ReduceLROnPlateau
from .scheduler import LRScheduler, copied, set_option


class _CombinedLR(LRScheduler):
    """Keeps other schedules, and their state in its own."""

    _schedulers: list[Any]

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer, with the states of the schedules."""
        states = [each.state_dict() for each in self._schedulers]
        return {**super().state_dict(), "_schedulers": states}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({**state_dict, "_schedulers": self._schedulers})
        for scheduler, saved in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(saved)

    def _check(self, schedulers: Sequence[Any], optimizer: object) -> None:
        name = type(self).__name__
        for position, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(
                    f"{name} at index {position} should have `optimizer` as its attribute. Pass "
                    "schedulers."
                )
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires "
                    "additional kwargs to be specified when calling `step`, but got one at index "
                    f"{position} in the given schedulers sequence. Step it by itself."
                )
            if scheduler.optimizer is not optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got "
                    f"scheduler {type(scheduler).__name__} at index {position} has "
                    f"{scheduler.optimizer}, which is different from {type(optimizer).__name__}. "
                    "Make all of them for one."
                )


class SequentialLR(_CombinedLR):
    """Run several schedules one after another.

    Parameters
    ----------
    optimizer : Optimizer
        Optimizer whose learning rates are set.
    schedulers : list of LRScheduler
        The schedules, in order.
    milestones : list of int
        The epochs at which the second, third, … schedule starts.
    last_epoch : int, default -1
        The epoch to resume after.

    Raises
    ------
    ValueError
        If the numbers of schedules and milestones do not match, if the schedules have different
        optimizers, or if one needs a metric.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError(
                "SequentialLR expects at least one scheduler, but got no scheduler. Pass some."
            )
        self._check(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than "
                "the number of milestone points, but got number of schedulers "
                f"{len(schedulers)} and the number of milestones to be equal to "
                f"{len(milestones)}. Pass one milestone less than schedulers."
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # Each schedule has set its own first rate; now only the first may.
        for group in optimizer.param_groups:
            set_option(group, "lr", group["initial_lr"])
        self.recursive_undo()
        _begin(schedulers[0])
        self._last_lr = schedulers[0].get_last_lr()

    def recursive_undo(self, sched: object = None) -> None:
        """Undo the initial steps of a schedule and of its parts.

        Parameters
        ----------
        sched : LRScheduler, optional
            Default: this schedule.
        """
        sched = self if sched is None else sched
        if hasattr(sched, "_schedulers"):
            for part in sched._schedulers:
                self.recursive_undo(part)
        elif hasattr(sched, "last_epoch"):
            sched.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Go to the next epoch of the active schedule."""
        self.last_epoch += 1
        turn = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[turn]
        if turn > 0 and self._milestones[turn - 1] == self.last_epoch:
            _restart(scheduler)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


def _begin(scheduler: Any) -> None:
    """Take the first step of a schedule, for which no step of the optimizer is due."""
    if isinstance(scheduler, SequentialLR):
        _begin(scheduler._schedulers[0])
        scheduler._last_lr = scheduler._schedulers[0].get_last_lr()
    elif isinstance(scheduler, ChainedScheduler):
        for part in scheduler._schedulers:
            _begin(part)
        scheduler._last_lr = [copied(group["lr"]) for group in scheduler.optimizer.param_groups]
    else:
        scheduler._step_count = 0
        scheduler._is_initial = True
        scheduler.step()
        scheduler._is_initial = False


def _restart(scheduler: Any) -> None:
    """Set the rates with which a schedule begins."""
    if isinstance(scheduler, _CombinedLR):
        scheduler.step()
    else:
        scheduler._go_to(0)


class ChainedScheduler(_CombinedLR):
    """Apply several schedules at once: each continues from the rates of the previous one.

    Parameters
    ----------
    schedulers : sequence of LRScheduler
        The schedules, in the order of their steps.
    optimizer : Optimizer, optional
        Default: the optimizer of the first schedule.

    Raises
    ------
    ValueError
        If there are no schedules, if they have different optimizers, or if one needs a metric.
    """

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError(
                "ChainedScheduler expects at least one scheduler to be chained, but got no "
                "scheduler. Pass some."
            )
        optimizer = optimizer or schedulers[0].optimizer
        self._check(schedulers, optimizer)
        self._schedulers = list(schedulers)
        self.optimizer = optimizer
        self._last_lr = [
            copied(group["lr"]) for group in self._schedulers[-1].optimizer.param_groups
        ]

    def step(self) -> None:  # type: ignore[override]
        """Run the step of every schedule."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = [
            copied(group["lr"]) for group in self._schedulers[-1].optimizer.param_groups
        ]
