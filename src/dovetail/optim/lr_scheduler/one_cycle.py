"""The one-cycle schedule."""

from __future__ import annotations

import math
from typing import Any, Literal

from ..optimizer import Optimizer
from .momentum import has_betas, set_momentum
from .scheduler import LRScheduler, check_optimizer, per_group, set_option


class OneCycleLR(LRScheduler):
    """Raise the rate from ``max_lr / div_factor`` to ``max_lr``, then lower it to ``1 /
    final_div_factor`` of the initial rate.

    Parameters
    ----------
    optimizer : Optimizer
        Optimizer whose learning rates are set.
    max_lr : float or list of float
        The greatest rate, for all groups or one per group.
    total_steps : int, optional
        Steps of the cycle; default: ``epochs * steps_per_epoch``.
    epochs, steps_per_epoch : int, optional
        See ``total_steps``.
    pct_start : float, default 0.3
        Fraction of the steps in which the rate rises.
    anneal_strategy : {'cos', 'linear'}, default 'cos'
        Curve from one value to the next.
    cycle_momentum : bool, default True
        Vary the momentum, or the first of ``betas``, in the opposite direction.
    base_momentum, max_momentum : float or list of float, default 0.85 and 0.95
        The smallest and the greatest momentum.
    div_factor, final_div_factor : float, default 25.0 and 1e4
        Ratio of the greatest rate to the first, and of the first to the last.
    three_phase : bool, default False
        Lower the rate in two phases: back to the initial rate in as many steps as it rose, then to
        the final rate.
    last_epoch : int, default -1
        The step to resume after.

    Raises
    ------
    ValueError
        For options out of range, and for a step after the last.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.total_steps = _total(total_steps, epochs, steps_per_epoch)
        share: Any = pct_start
        if not isinstance(share, float) or not 0 <= share <= 1:
            raise ValueError(
                f"Expected float between 0 and 1 pct_start, but got {pct_start}. Give another."
            )
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                "anneal_strategy must be one of 'cos' or 'linear', instead got "
                f"{anneal_strategy}. Give one of them."
            )
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        self._anneal_func_type = anneal_strategy
        self.cycle_momentum = cycle_momentum
        greatest = per_group("max_lr", optimizer, max_lr)
        if cycle_momentum:
            self.use_beta1 = has_betas(optimizer)
            momenta = [
                *zip(
                    per_group("max_momentum", optimizer, max_momentum),
                    per_group("base_momentum", optimizer, base_momentum),
                    strict=True,
                )
            ]
        if last_epoch == -1:
            for position, group in enumerate(optimizer.param_groups):
                first = greatest[position] / div_factor
                group["initial_lr"] = first
                group["max_lr"] = greatest[position]
                group["min_lr"] = first / final_div_factor
                set_option(group, "lr", first)
                if cycle_momentum:
                    set_momentum(group, momenta[position][0])
                    group["max_momentum"], group["base_momentum"] = momenta[position]
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The specified number of total steps is "
                f"{self.total_steps}. Give more total_steps."
            )
        begin = 0.0
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            begin = phase["end_step"]
        share = (step - begin) / (phase["end_step"] - begin)
        if self.cycle_momentum:
            for group in self.optimizer.param_groups:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                set_momentum(group, self._between(*ends, share))
        return [
            self._between(group[phase["start_lr"]], group[phase["end_lr"]], share)
            for group in self.optimizer.param_groups
        ]

    def _between(self, start: Any, end: Any, share: float) -> Any:
        if self._anneal_func_type == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)


def _total(total: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    if total is not None:
        _check_positive("total_steps", total)
        return total
    if epochs is None or steps_per_epoch is None:
        raise ValueError(
            "You must define either total_steps OR (epochs AND steps_per_epoch). Give total_steps."
        )
    _check_positive("epochs", epochs)
    _check_positive("steps_per_epoch", steps_per_epoch)
    return epochs * steps_per_epoch


def _check_positive(name: str, value: object) -> None:
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"Expected positive integer {name}, but got {value}. Give another.")


def _phases(total: int, rising: float, is_three: bool) -> list[dict[str, Any]]:
    ends = [float(rising * total) - 1, total - 1]
    rates = ["initial_lr", "max_lr", "min_lr"]
    momenta = ["max_momentum", "base_momentum", "max_momentum"]
    if is_three:
        ends.insert(1, float(2 * rising * total) - 2)
        rates.insert(2, "initial_lr")
        momenta.append("max_momentum")
    return [
        {
            "end_step": end,
            "start_lr": rates[place],
            "end_lr": rates[place + 1],
            "start_momentum": momenta[place],
            "end_momentum": momenta[place + 1],
        }
        for place, end in enumerate(ends)
    ]
