"""RMSprop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import dovetail_aten as aten
from dovetail_aten import Tensor

from .optimizer import Optimizer, Params
from .options import (
    add_number,
    add_quotient,
    add_scaled,
    check_flags,
    check_non_negative,
    learning_rate,
)

__all__ = ["RMSprop"]


class RMSprop(Optimizer):
    """RMSprop: steps divided by the root of a running mean of squared gradients.

    Parameters
    ----------
    params : iterable
        As in `Optimizer`.
    lr : float or Tensor, default 1e-2
        Learning rate.
    alpha : float, default 0.99
        Decay of the running mean.
    eps : float, default 1e-8
        Added to the denominator.
    weight_decay : float, default 0
        Factor of the parameter added to its gradient.
    momentum : float, default 0
        Share of the previous update that is kept.
    centered : bool, default False
        Subtract the squared mean of the gradients.
    maximize : bool, default False
        Go up instead of down.
    foreach, capturable : bool, optional
        Accepted; they do not change the result.
    differentiable : bool, default False
        Record `step`, so that what it computes can be differentiated; see `Optimizer`.

    Raises
    ------
    ValueError
        For a negative option.
    """

    _later_options: ClassVar[dict[str, Any]] = {
        "momentum": 0,
        "centered": False,
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_non_negative(learning_rate=lr, epsilon_value=eps, momentum_value=momentum)
        if weight_decay < 0.0:
            raise ValueError(
                f"Invalid weight_decay value: {weight_decay}. It must not be negative."
            )
        check_non_negative(alpha_value=alpha)
        check_flags(differentiable=differentiable, foreach=foreach)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        return self._step_groups(closure, self._step_group)

    def _step_group(self, group: dict[str, Any]) -> None:
        for parameter in group["params"]:
            if parameter.grad is not None:
                self._step_parameter(parameter, parameter.grad, group)

    def _step_parameter(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state = self._state_of(parameter, group)
        if not state:
            state["step"] = aten.tensor(0.0)
            state["square_avg"] = aten.zeros_like(parameter)
            if group["momentum"] > 0:
                state["momentum_buffer"] = aten.zeros_like(parameter)
            if group["centered"]:
                state["grad_avg"] = aten.zeros_like(parameter)
        state["step"].add_(1)
        alpha, rate = group["alpha"], learning_rate(group)
        if group["maximize"]:
            gradient = gradient.neg()
        if group["weight_decay"] != 0:
            gradient = gradient.add(parameter, alpha=group["weight_decay"])
        squares = state["square_avg"]
        squares.mul_(alpha).addcmul_(gradient, gradient, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"]
            mean.lerp_(gradient, 1 - alpha)
            root = squares.addcmul(mean, mean, value=-1).sqrt_()
        else:
            root = squares.sqrt()
        root = add_number(root, group["eps"], group["differentiable"])
        if group["momentum"] > 0:
            buffer = state["momentum_buffer"]
            buffer.mul_(group["momentum"]).addcdiv_(gradient, root)
            add_scaled(parameter, buffer, -rate)
        else:
            add_quotient(parameter, gradient, root, -rate)
