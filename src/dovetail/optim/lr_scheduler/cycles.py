"""Schedules that raise and lower the rate, and the momentum in the opposite direction."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

from ..optimizer import Optimizer
from .momentum import has_betas, set_momentum
from .scheduler import LRScheduler, check_optimizer, per_group, set_option, state_of


class CyclicLR(LRScheduler):
    """Raise and lower the rate between two values, in cycles.

    Parameters
    ----------
    optimizer : Optimizer
        Optimizer whose learning rates are set.
    base_lr, max_lr : float or list of float
        The smallest and greatest rate, for all groups or one per group.
    step_size_up : int, default 2000
        Number of steps in which the rate rises.
    step_size_down : int, optional
        Number of steps in which the rate falls; default: ``step_size_up``.
    mode : {'triangular', 'triangular2', 'exp_range'}, default 'triangular'
        The height of a cycle: constant, half of the previous height, or ``gamma**steps`` times the
        first height.
    gamma : float, default 1.0
        Base of the heights for 'exp_range'.
    scale_fn : callable, optional
        Function that returns the factor of the height for a cycle or a step; overrides ``mode``.
    scale_mode : {'cycle', 'iterations'}, default 'cycle'
        Whether the argument of ``scale_fn`` is the cycle or the iteration.
    cycle_momentum : bool, default True
        Vary the momentum, or the first of ``betas``, from ``max_momentum`` down to
        ``base_momentum`` and back.
    base_momentum, max_momentum : float or list of float, default 0.8 and 0.9
        The smallest and greatest momentum.
    last_epoch : int, default -1
        The step to resume after.

    Raises
    ------
    ValueError
        For an unknown mode, lists of the wrong length, or an optimizer without momentum.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        base_lrs = per_group("base_lr", optimizer, base_lr)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None. Give one of the three modes.")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = has_betas(optimizer)
            self.base_momentums = per_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = per_group("max_momentum", optimizer, max_momentum)
        if last_epoch == -1:
            for position, group in enumerate(optimizer.param_groups):
                set_option(group, "lr", base_lrs[position])
                if cycle_momentum:
                    group["max_momentum"] = self.max_momentums[position]
                    group["base_momentum"] = self.base_momentums[position]
                    set_momentum(group, self.max_momentums[position])
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """Return the height of a cycle or a step, relative to the first one."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return float(1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        place = 1.0 + self.last_epoch / self.total_size - cycle
        if place <= self.step_ratio:
            height = place / self.step_ratio
        else:
            height = (place - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, base, greatest in zip(
                self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True
            ):
                set_momentum(group, greatest - (greatest - base) * height)
        return [
            base + (greatest - base) * height
            for base, greatest in zip(self.base_lrs, self.max_lrs, strict=True)
        ]

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer; ``scale_fn`` is saved as the attributes of an
        object, and not at all if it is a function.
        """
        return {**super().state_dict(), "_scale_fn_custom": state_of(self._scale_fn_custom)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        saved = state_dict.get("_scale_fn_custom")
        super().load_state_dict({**state_dict, "_scale_fn_custom": self._scale_fn_custom})
        if saved is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(saved)
