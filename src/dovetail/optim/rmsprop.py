"""RMSprop."""

from __future__ import annotations

from typing import Any, ClassVar

import dovetail_aten as aten
from dovetail_aten import Tensor

from .elementwise import ElementwiseOptimizer, decayed, first_step
from .functional_steps import functional_step
from .optimizer import Params
from .options import (
    add_number,
    add_quotient,
    add_scaled,
    check_non_negative,
    mix,
    mix_square,
    option,
    options_of,
)

__all__ = ["RMSprop", "rmsprop"]


class RMSprop(ElementwiseOptimizer):
    """RMSprop: steps divided by the root of a running mean of squared gradients.

    ``v = alpha * v + (1 - alpha) * g**2``; ``p = p - lr * g / (sqrt(v) + eps)``.

    Parameters
    ----------
    lr : float or Tensor, default 1e-2
        Learning rate.
    alpha : float, default 0.99
        Decay of the running mean.
    eps : float, default 1e-8
        Value added to the denominator.
    weight_decay : float, default 0
        Factor of the parameter added to its gradient.
    momentum : float, default 0
        Weight of the previous update.
    centered : bool, default False
        Subtract the squared mean of the gradients.
    params, capturable, foreach, maximize, differentiable
        As in `Optimizer`.

    Raises
    ------
    ValueError
        For a negative option.
    """

    _later_options: ClassVar[dict[str, Any]] = {
        **ElementwiseOptimizer._later_options,
        "momentum": 0,
        "centered": False,
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
        check_non_negative(alpha=alpha)
        names = (
            "lr momentum alpha eps centered weight_decay capturable foreach maximize differentiable"
        )
        super().__init__(params, options_of(locals(), names))

    def _start(self, state: dict[str, Any], parameter: Tensor, group: dict[str, Any]) -> None:
        first_step(state)
        state["square_avg"] = aten.zeros_like(parameter)
        if group["momentum"] > 0:
            state["momentum_buffer"] = aten.zeros_like(parameter)
        if group["centered"]:
            state["grad_avg"] = aten.zeros_like(parameter)

    def _update(
        self, parameter: Tensor, gradient: Tensor, values: dict[str, Any], group: dict[str, Any]
    ) -> None:
        values["step"] += 1
        alpha, rate = group["alpha"], option(group, "lr")
        gradient = decayed(gradient, parameter, group)
        squares = values["square_avg"]
        mix_square(squares, gradient, alpha)
        if group["centered"]:
            mean = values["grad_avg"]
            mix(mean, gradient, 1 - alpha)
            root = squares.addcmul(mean, mean, value=-1).sqrt_()
        else:
            root = squares.sqrt()
        root = add_number(root, group["eps"], group["differentiable"])
        if group["momentum"] > 0:
            buffer = values["momentum_buffer"]
            buffer.mul_(group["momentum"]).addcdiv_(gradient, root)
            add_scaled(parameter, buffer, -rate)
        else:
            add_quotient(parameter, gradient, root, -rate)


rmsprop = functional_step(
    RMSprop,
    "grads square_avgs grad_avgs momentum_buffer_list state_steps",
    "foreach maximize differentiable capturable has_complex",
    "lr alpha eps weight_decay momentum centered",
    only={
        "grad_avgs": lambda options: options["centered"],
        "momentum_buffer_list": lambda options: options["momentum"] > 0,
    },
)
