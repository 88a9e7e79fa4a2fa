"""The schedule that reduces the rate when a metric stops improving."""

from __future__ import annotations

from math import inf
from typing import Any, Literal, SupportsFloat

from dovetail_kernel import warn_user

from ..optimizer import Optimizer
from .scheduler import EPOCH_DEPRECATION_WARNING, LRScheduler, check_optimizer, set_option


class ReduceLROnPlateau(LRScheduler):
    """Multiply the rate by ``factor`` if a metric has not improved for ``patience`` epochs.

    Parameters
    ----------
    optimizer : Optimizer
        Optimizer whose learning rates are set.
    mode : {'min', 'max'}, default 'min'
        Whether lower or higher metrics are better.
    factor : float, default 0.1
        Below 1.
    patience : int, default 10
        Number of epochs without improvement that are tolerated.
    threshold : float, default 1e-4
        Minimum improvement over the best metric.
    threshold_mode : {'rel', 'abs'}, default 'rel'
        Whether ``threshold`` is relative to the best metric or an absolute difference.
    cooldown : int, default 0
        Number of epochs after a reduction in which nothing is counted.
    min_lr : float or list of float, default 0
        The smallest rate, for all groups or one per group.
    eps : float, default 1e-8
        Smaller changes of the rate are ignored.

    Raises
    ------
    ValueError
        For options out of range.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: Literal["min", "max"] = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: Literal["rel", "abs"] = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError(f"Factor should be < 1.0. It is {factor}.")
        self.factor = factor
        check_optimizer(optimizer)
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        if isinstance(min_lr, (list, tuple)):
            if len(min_lr) != groups:
                raise ValueError(f"expected {groups} min_lrs, got {len(min_lr)}. Give one number.")
            self.default_min_lr: float | None = None
            self.min_lrs = list(min_lr)
        else:
            self.default_min_lr = min_lr
            self.min_lrs = [min_lr] * groups
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = self._rates()
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown! Give 'min' or 'max'.")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown! Give 'rel' or 'abs'.")
        self.mode_worse = inf if mode == "min" else -inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self._reset()

    def _reset(self) -> None:
        """Forget the metrics seen."""
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(self, metrics: SupportsFloat, epoch: int | None = None) -> None:  # type: ignore[override]
        """Record the metric of an epoch, and reduce the rates if necessary.

        Parameters
        ----------
        metrics : float or Tensor
            The metric.
        epoch : int, optional
            Deprecated: the epoch of the metric.
        """
        metric = float(metrics)
        if epoch is None:
            epoch = self.last_epoch + 1
        else:
            warn_user(EPOCH_DEPRECATION_WARNING)
        self.last_epoch = epoch
        if self.is_better(metric, self.best):
            self.best = metric
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(epoch)
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = self._rates()

    def _reduce_lr(self, epoch: int) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    "The number of param groups in the `optimizer` "
                    f"({len(groups)}) differs from when `ReduceLROnPlateau` was initialized "
                    f"({len(self.min_lrs)}), usually due to a new param group being added to the "
                    "optimizer. Please modify the `min_lrs` field to match the length of the "
                    "`optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            before = float(group["lr"])
            after = max(before * self.factor, least)
            if before - after > self.eps:
                set_option(group, "lr", after)

    @property
    def in_cooldown(self) -> bool:
        """Whether the schedule is in the cooldown after a reduction."""
        return self.cooldown_counter > 0

    def is_better(self, a: float, best: float) -> bool:
        """Return whether a metric is better than the best one by more than the threshold."""
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "rel":
            least = best * (1.0 + sign * self.threshold)
        else:
            least = best + sign * self.threshold
        return a > least if self.mode == "max" else a < least

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update(state_dict)
