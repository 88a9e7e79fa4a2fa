"""Averages of the parameters of a model over its training."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, Literal, TypeAlias

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import no_grad
from dovetail_kernel import Device, int64

from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from .lr_scheduler.scheduler import LRScheduler, per_group
from .optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

Tensors: TypeAlias = list[Tensor]
Average: TypeAlias = Callable[[Tensor, Tensor, Any], Tensor]
Averages: TypeAlias = Callable[[Tensors, Tensors, Any], None]


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """Return a function that updates the exponential moving average of one tensor.

    Raises
    ------
    ValueError
        If ``decay`` is not within [0, 1].
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Averages:
    """Return a function that updates the exponential moving averages of many tensors in place.

    Raises
    ------
    ValueError
        If ``decay`` is not within [0, 1].
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list: Tensors, current_param_list: Tensors, num_averaged: Any) -> None:
        _approach(ema_param_list, current_param_list, 1 - decay)

    return ema_update


def get_swa_avg_fn() -> Average:
    """Return a function that updates the mean of all values of one tensor."""

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        mean: Tensor = averaged_param + (current_param - averaged_param) / (num_averaged + 1)
        return mean

    return swa_update


def get_swa_multi_avg_fn() -> Averages:
    """Return a function that updates the means of all values of many tensors in place."""

    @no_grad()
    def swa_update(
        averaged_param_list: Tensors, current_param_list: Tensors, num_averaged: Any
    ) -> None:
        _approach(averaged_param_list, current_param_list, 1 / (float(num_averaged) + 1))

    return swa_update


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def _approach(means: Tensors, values: Tensors, share: float) -> None:
    """Move means by a share of the way towards values; integers, rounded down."""
    for mean, value in zip(means, values, strict=True):
        if mean.is_floating_point() or mean.is_complex():
            mean.lerp_(value, share)
        else:
            mean.copy_(mean + (value - mean) * share)


class AveragedModel(Module):
    """A copy of a model with averaged parameters.

    Parameters
    ----------
    model : Module
        Model to copy.
    device : device, optional
        Device of the copy; default: the device of the model.
    avg_fn : callable, optional
        ``avg_fn(average, value, count)`` returns the next average of a parameter.
    multi_avg_fn : callable, optional
        ``multi_avg_fn(averages, values, count)`` writes all averages in place. Default: the mean.
    use_buffers : bool, default False
        Average buffers too; otherwise they are copied from the model.

    Raises
    ------
    AssertionError
        If both functions are passed.
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: Averages | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", aten.tensor(0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Update the averages with the current parameters of the model."""
        means, values = ([*self._averaged(each)] for each in (self.module, model))
        values = [value.detach().to(mean.device) for mean, value in zip(means, values, strict=True)]
        means = [mean.detach() for mean in means]
        if self.n_averaged == 0:
            for mean, value in zip(means, values, strict=True):
                mean.copy_(value)
        elif self.avg_fn is not None:
            for mean, value in zip(means, values, strict=True):
                mean.copy_(self.avg_fn(mean, value, self.n_averaged.to(mean.device)))
        else:
            (self.multi_avg_fn or get_swa_multi_avg_fn())(means, values, self.n_averaged)
        if not self.use_buffers:
            for mine, other in zip(self.module.buffers(), model.buffers(), strict=True):
                mine.detach().copy_(other.detach().to(mine.device))
        self.n_averaged += 1

    def _averaged(self, model: Module) -> Iterable[Tensor]:
        buffers = model.buffers() if self.use_buffers else ()
        return chain(model.parameters(), buffers)


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Device | int | None = None) -> None:
    """Recompute the running statistics of the batch normalisations of a model.

    Parameters
    ----------
    loader : iterable
        Batches, or lists and tuples whose first item is the batch.
    model : Module
        Model to call with the batches, in training mode.
    device : device, optional
        Device to move the batches to.
    """
    momenta: dict[_BatchNorm, float | None] = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.momentum = None  # the mean over all batches
    for batch in loader:
        given = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(given if device is None else given.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Change the rate of each group to one value, and keep it there.

    Parameters
    ----------
    optimizer : Optimizer
        Optimizer whose learning rates are set.
    swa_lr : float or list of float
        The final rate, for all groups or one per group.
    anneal_epochs : int, default 10
        Number of epochs until the final rate is reached.
    anneal_strategy : {'cos', 'linear'}, default 'cos'
        Curve from the initial to the final rate.
    last_epoch : int, default -1
        The epoch to resume after.

    Raises
    ------
    ValueError
        For an unknown strategy, or negative epochs.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        for rate, group in zip(
            per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True
        ):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                "anneal_strategy must be one of 'cos' or 'linear', instead got "
                f"{anneal_strategy}. Give one of them."
            )
        self._anneal_strategy = anneal_strategy
        epochs: Any = anneal_epochs
        if not isinstance(epochs, int) or epochs < 0:
            raise ValueError(
                f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}. Give another."
            )
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        """Return how much of the way is gone."""
        time = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return time if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * time)) / 2

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, share = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            end = group["swa_lr"]
            start = end if before == 1 else (group["lr"] - before * end) / (1 - before)
            rates.append(end * share + start * (1 - share))
        return rates
