"""Schedules that change a factor of the rate over a number of epochs."""

from __future__ import annotations

from typing import Any

from ..optimizer import Optimizer
from .scheduler import LRScheduler


class ConstantLR(LRScheduler):
    """Multiply the rate by ``factor`` for ``total_iters`` epochs.

    Raises
    ------
    ValueError
        If ``factor`` is not within [0, 1].
    """

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0.0 <= factor <= 1.0:
            raise ValueError(
                f"Constant multiplicative factor expected to be between 0 and 1. It is {factor}."
            )
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self.last_epoch == 0:
            return [rate * self.factor for rate in self._rates()]
        if self.last_epoch != self.total_iters:
            return self._rates()
        return [rate * (1.0 / self.factor) for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        factor = 1.0 if self.last_epoch >= self.total_iters else self.factor
        return [base * factor for base in self.base_lrs]


class LinearLR(LRScheduler):
    """Change a factor of the rate linearly from ``start_factor`` to ``end_factor`` in
    ``total_iters`` epochs.

    Raises
    ------
    ValueError
        If ``start_factor`` is not within (0, 1] or ``end_factor`` not within [0, 1].
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0.0 < start_factor <= 1.0:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal "
                f"to 1. It is {start_factor}."
            )
        if not 0.0 <= end_factor <= 1.0:
            raise ValueError(
                f"Ending multiplicative factor expected to be between 0 and 1. It is {end_factor}."
            )
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self.last_epoch == 0:
            return [rate * self.start_factor for rate in self._rates()]
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        slope = self.end_factor - self.start_factor
        ratio = 1.0 + slope / (self.total_iters * self.start_factor + (self.last_epoch - 1) * slope)
        return [rate * ratio for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        progress = min(self.total_iters, self.last_epoch) / self.total_iters
        factor = self.start_factor + (self.end_factor - self.start_factor) * progress
        return [base * factor for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Lower the rate to zero in ``total_iters`` epochs, as a power of the remaining epochs."""

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        ratio = (self.total_iters - self.last_epoch) / (self.total_iters - self.last_epoch + 1)
        return [rate * ratio**self.power for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        share = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * share**self.power for base in self.base_lrs]
