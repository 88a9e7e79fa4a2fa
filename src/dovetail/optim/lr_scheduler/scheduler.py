"""`LRScheduler`, the base class of schedules of the learning rate."""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType
from typing import Any

from dovetail_aten import Tensor
from dovetail_kernel import warn_user

from ..hooks import with_count
from ..optimizer import Optimizer
from ..options import number

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()` to step the scheduler. During the deprecation, if "
    "epoch is different from None, the closed form is used instead of the new chainable form, "
    "where available."
)


class LRScheduler:
    """Base class of schedules; subclasses define `get_lr`, which computes the new rates from the
    current ones.

    Parameters
    ----------
    optimizer : Optimizer
        Optimizer whose groups' 'lr' is set; the initial value is stored as 'initial_lr'.
    last_epoch : int, default -1
        The epoch to resume after; -1 starts from the beginning.

    Raises
    ------
    TypeError
        If ``optimizer`` is not an `Optimizer`.
    KeyError
        If the schedule resumes and a group has no 'initial_lr'.
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        if not hasattr(optimizer.step, "_wrapped_by_lr_sched"):
            # A step that was given to this one optimizer, not to its class.
            optimizer.step = with_count(optimizer, optimizer.step)  # type: ignore[method-assign]
        for position, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{position}] when "
                    "resuming scheduler with "
                    "last_epoch >= 0. Load the optimizer's state dict first, or start with "
                    "last_epoch=-1."
                )
        self.base_lrs: list[float] = [
            copied(group["initial_lr"]) for group in optimizer.param_groups
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
        """Load the result of `state_dict`; the optimizer keeps its current rates."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[float]:
        """Return the rates set by the last `step`, one per group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """Compute the rates of the current epoch, one per group; use `get_last_lr` to read them."""
        raise NotImplementedError(
            f"{type(self).__name__} does not define get_lr(). Define it in the subclass."
        )

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warn_user(
                "To get the last learning rate computed by the scheduler, please use "
                "`get_last_lr()`."
            )

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch and set the learning rates; call it after ``optimizer.step()``.

        Parameters
        ----------
        epoch : int, optional
            Deprecated: the epoch to go to, by the closed form if the schedule has one.
        """
        if self._step_count == 1:
            self._warn_of_order()
        self._step_count += 1
        if epoch is not None:
            warn_user(EPOCH_DEPRECATION_WARNING)
        self._go_to(epoch)

    def _warn_of_order(self) -> None:
        if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            warn_user(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
                "initialization. Please, make sure to call `optimizer.step()` before "
                "`lr_scheduler.step()`."
            )
        elif not self.optimizer._opt_called:
            warn_user(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. "
                "You should call them in the opposite order: `optimizer.step()` before "
                "`lr_scheduler.step()`. "
                "Failure to do this will result in skipping the first value of the learning rate "
                "schedule."
            )

    def _go_to(self, epoch: int | None) -> None:
        """Set the rates of the next epoch, or of the one given."""
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                rates = getattr(self, "_get_closed_form_lr", self.get_lr)()
        finally:
            self._get_lr_called_within_step = False
        self._set_rates(rates)

    def _set_rates(self, rates: Iterable[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_option(group, "lr", rate)
        self._last_lr = [copied(group["lr"]) for group in self.optimizer.param_groups]

    def _rates(self) -> list[Any]:
        return [group["lr"] for group in self.optimizer.param_groups]


class _LRScheduler(LRScheduler):
    """What `LRScheduler` was called once."""


def state_of(function: object) -> dict[str, Any] | None:
    """Return what a schedule saves of a function: the attributes of an object; None if there is
    none, and for a plain function.
    """
    return None if function is None or isinstance(function, FunctionType) else vars(function).copy()


def copied(value: object) -> Any:
    """Return a number, or a copy of a tensor."""
    return value.clone() if isinstance(value, Tensor) else value


def set_option(group: dict[str, Any], name: str, value: object) -> None:
    """Set an option of a group; one that is a tensor stays the same tensor."""
    if isinstance(group[name], Tensor):
        group[name].fill_(number(value))
    else:
        group[name] = value


def per_group(name: str, optimizer: Optimizer, value: object) -> list[Any]:
    """Return an argument that is given for all groups, or one for each, as a list.

    Raises
    ------
    ValueError
        If there are more or fewer than groups.
    """
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} "
            f"values, param_groups has {count}. Give one value for all of them."
        )
    return list(value)


def check_optimizer(optimizer: object) -> None:
    """Raise TypeError unless it is an optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(
            f"{type(optimizer).__name__} is not an Optimizer. Pass an instance of "
            "dovetail.optim.Optimizer."
        )
