"""Learning rate schedules: each ``step()`` sets the learning rates of an optimizer's groups."""

from __future__ import annotations

import math
import types
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dovetail_aten import Tensor

from .optimizer import Optimizer

__all__ = [
    "CosineAnnealingLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "StepLR",
]


class LRScheduler:
    """Base class of schedules; subclasses define `get_lr`, which computes the rates from the
    present ones.

    Parameters
    ----------
    optimizer : Optimizer
        Whose groups' 'lr' is set; their first value is kept as 'initial_lr'.
    last_epoch : int, default -1
        The epoch to resume after; -1 starts anew.

    Raises
    ------
    TypeError
        If ``optimizer`` is not an `Optimizer`.
    KeyError
        If resuming and a group has no 'initial_lr'.
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(
                f"{type(optimizer).__name__} is not an Optimizer. Pass an instance of "
                "dovetail.optim.Optimizer."
            )
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming "
                    "scheduler with "
                    "last_epoch >= 0. Load the optimizer's state dict first, or start with "
                    "last_epoch=-1."
                )
        self.base_lrs: list[float] = [
            _copied(group["initial_lr"]) for group in optimizer.param_groups
        ]
        self.last_epoch = last_epoch
        self._step_count = 0
        self._is_initial = True
        self._get_lr_called_within_step = False
        # What is called before this schedule exists cannot count as the order of the two steps.
        optimizer._opt_called = False
        self.step()
        self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the state that `state_dict` returned; the optimizer keeps its present rates."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[float]:
        """Return the rates set by the last `step`, one per group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """Compute the rates of the present epoch, one per group; call `get_last_lr` to read
        them.
        """
        raise NotImplementedError(
            f"{type(self).__name__} does not define get_lr(). Define it in the subclass."
        )

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use "
                "`get_last_lr()`.",
                stacklevel=3,
            )

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch and set the learning rates; call it after ``optimizer.step()``.

        Parameters
        ----------
        epoch : int, optional
            Deprecated: the epoch to go to, by the closed form where there is one.
        """
        if self._step_count == 1 and not self.optimizer._opt_called:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. "
                "You should call them in the opposite order: `optimizer.step()` before "
                "`lr_scheduler.step()`. "
                "Failure to do this will result in skipping the first value of the learning rate "
                "schedule.",
                stacklevel=2,
            )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(
                "The epoch parameter in `scheduler.step()` was not necessary and is being "
                "deprecated where possible. "
                "Please use `scheduler.step()` to step the scheduler.",
                stacklevel=2,
            )
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                closed = getattr(self, "_get_closed_form_lr", self.get_lr)
                rates = closed()
        finally:
            self._get_lr_called_within_step = False
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate
        self._last_lr = [_copied(group["lr"]) for group in self.optimizer.param_groups]

    def _rates(self) -> list[Any]:
        return [group["lr"] for group in self.optimizer.param_groups]


def _copied(rate: Any) -> Any:
    return rate.clone() if isinstance(rate, Tensor) else rate


class LambdaLR(LRScheduler):
    """The initial rate times a function of the epoch.

    Parameters
    ----------
    optimizer : Optimizer
        Whose rates are set.
    lr_lambda : callable or list of callable
        For all groups, or one per group. State dicts keep those that are objects, not functions.
    last_epoch : int, default -1
        The epoch to resume after.

    Raises
    ------
    ValueError
        If the list has the wrong length.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        if isinstance(optimizer, Optimizer):
            groups = len(optimizer.param_groups)
            self.lr_lambdas = (
                list(lr_lambda) if isinstance(lr_lambda, Sequence) else [lr_lambda] * groups
            )
            if len(self.lr_lambdas) != groups:
                raise ValueError(
                    f"Expected {groups} lr_lambdas, but got {len(self.lr_lambdas)}. Pass one per "
                    "group."
                )
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        state = {
            key: value
            for key, value in self.__dict__.items()
            if key not in ("optimizer", "lr_lambdas")
        }
        state["lr_lambdas"] = [
            None if isinstance(function, types.FunctionType) else dict(function.__dict__)
            for function in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update(
            {key: value for key, value in state_dict.items() if key != "lr_lambdas"}
        )
        for function, saved in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if saved is not None:
                function.__dict__.update(saved)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        return [
            base * function(self.last_epoch)
            for base, function in zip(self.base_lrs, self.lr_lambdas, strict=True)
        ]


class StepLR(LRScheduler):
    """Multiply the rate by ``gamma`` every ``step_size`` epochs."""

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._rates()
        return [rate * self.gamma for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiply the rate by ``gamma`` at each of the epochs ``milestones``."""

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self.last_epoch not in self.milestones:
            return self._rates()
        return [rate * self.gamma ** self.milestones[self.last_epoch] for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiply the rate by ``gamma`` every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self._is_initial:
            return self._rates()
        return [rate * self.gamma for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class LinearLR(LRScheduler):
    """Let a factor of the rate go linearly from ``start_factor`` to ``end_factor`` in
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
                "to 1, "
                f"but got {start_factor}."
            )
        if not 0.0 <= end_factor <= 1.0:
            raise ValueError(
                "Ending multiplicative factor expected to be between 0 and 1, but got "
                f"{end_factor}."
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


class CosineAnnealingLR(LRScheduler):
    """Let the rate swing along a cosine between its initial value and ``eta_min``, which it reaches
    at ``T_max``.
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        epoch, half = self.last_epoch, self.T_max
        if self._is_initial:
            return self._rates()
        if self._step_count == 1 and epoch > 0:
            return self._get_closed_form_lr()
        if (epoch - 1 - half) % (2 * half) == 0:
            rise = (1 - math.cos(math.pi / half)) / 2
            return [
                rate + (base - self.eta_min) * rise
                for base, rate in zip(self.base_lrs, self._rates(), strict=True)
            ]
        ratio = (1 + math.cos(math.pi * epoch / half)) / (
            1 + math.cos(math.pi * (epoch - 1) / half)
        )
        return [ratio * (rate - self.eta_min) + self.eta_min for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        share = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]
