"""Schedules that go up and down, and let the momentum go the other way."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any, Literal

from ..optimizer import Optimizer
from .momentum import has_betas, set_momentum
from .scheduler import LRScheduler, check_optimizer, per_group, set_option


class CyclicLR(LRScheduler):
    """Let the rate go up and down between two values, in cycles.

    Parameters
    ----------
    optimizer : Optimizer
        Optimizer whose learning rates are set.
    base_lr, max_lr : float or list of float
        The two values, for all groups or one per group.
    step_size_up : int, default 2000
        Steps of the way up.
    step_size_down : int, optional
        Steps of the way down; default: as many as up.
    mode : {'triangular', 'triangular2', 'exp_range'}, default 'triangular'
        Every cycle is as high as the first, half as high as the one before, or ``gamma**steps``
        times as high.
    gamma : float, default 1.0
        For 'exp_range'.
    scale_fn : callable, optional
        The factor of the height as a function of the cycle, or of the steps; overrides ``mode``.
    scale_mode : {'cycle', 'iterations'}, default 'cycle'
        Argument of ``scale_fn``: the cycle or the iteration.
    cycle_momentum : bool, default True
        Let the momentum, or the first of ``betas``, go from ``max_momentum`` down to
        ``base_momentum`` and back.
    base_momentum, max_momentum : float or list of float, default 0.8 and 0.9
        The two values.
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
        """Return the height of a cycle, or of a step, as a part of that of the first."""
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
        """Return everything but the optimizer; of ``scale_fn`` what an object holds, and nothing
        of a function.
        """
        state = super().state_dict()
        function = state.pop("_scale_fn_custom")
        state["_scale_fn_custom"] = (
            None
            if function is None or isinstance(function, types.FunctionType)
            else dict(function.__dict__)
        )
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        state = dict(state_dict)
        saved = state.pop("_scale_fn_custom", None)
        super().load_state_dict(state)
        if saved is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(saved)
