"""Schedules by functions of the epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ..optimizer import Optimizer
from .scheduler import LRScheduler, check_optimizer, state_of

Factor: TypeAlias = Callable[[int], float]


class _FunctionLR(LRScheduler):
    """Keeps the functions of the groups."""

    def __init__(
        self, optimizer: Optimizer, lr_lambda: Factor | Sequence[Factor], last_epoch: int = -1
    ) -> None:
        check_optimizer(optimizer)
        groups = len(optimizer.param_groups)
        self.lr_lambdas: list[Any] = (
            list(lr_lambda) if isinstance(lr_lambda, Sequence) else [lr_lambda] * groups
        )
        if len(self.lr_lambdas) != groups:
            raise ValueError(
                f"Expected {groups} lr_lambdas, but got {len(self.lr_lambdas)}. Pass one per group."
            )
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "lr_lambdas": [state_of(each) for each in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({**state_dict, "lr_lambdas": self.lr_lambdas})
        for function, saved in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if saved is not None:
                function.__dict__.update(saved)


class LambdaLR(_FunctionLR):
    """Set the rate to its initial value times a function of the epoch.

    Parameters
    ----------
    optimizer : Optimizer
        Optimizer whose learning rates are set.
    lr_lambda : callable or list of callable
        One function for all groups, or a list with one function per group. State dicts contain
        callable objects, but not plain functions.
    last_epoch : int, default -1
        The epoch to resume after.

    Raises
    ------
    ValueError
        If the list has the wrong length.
    """

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        return [
            base * function(self.last_epoch)
            for base, function in zip(self.base_lrs, self.lr_lambdas, strict=True)
        ]


class MultiplicativeLR(_FunctionLR):
    """Multiply the rate by a function of the epoch, every epoch.

    Parameters and errors as in `LambdaLR`.
    """

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self._is_initial:
            return self._rates()
        return [
            rate * function(self.last_epoch)
            for rate, function in zip(self._rates(), self.lr_lambdas, strict=True)
        ]
