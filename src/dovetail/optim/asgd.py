"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor

from .elementwise import ElementwiseOptimizer, decayed, first_step
from .functional_steps import functional_step
from .optimizer import Params
from .options import add_scaled, count, option, options_of

__all__ = ["ASGD", "asgd"]


class ASGD(ElementwiseOptimizer):
    """Averaged stochastic gradient descent: the state contains the mean ``ax`` of the parameters.

    ``p = p * (1 - lambd * eta) - eta * g``; ``ax = ax + (p - ax) * mu``;
    ``eta = lr / (1 + lambd * lr * step)**alpha``; ``mu = 1 / max(1, step - t0)``.

    Parameters
    ----------
    lr : float or Tensor, default 1e-2
        Learning rate.
    lambd : float, default 1e-4
        Decay of the parameters.
    alpha : float, default 0.75
        Exponent of the decay of the rate.
    t0 : float, default 1e6
        First step at which the parameters are averaged.
    weight_decay : float, default 0
        Factor of the parameter added to its gradient.
    params, foreach, maximize, differentiable, capturable
        As in `Optimizer`.

    Raises
    ------
    ValueError
        For a negative rate or weight decay.
    """

    _numbers = ("step", "eta", "mu")
    _captured = ("params", "mus", "etas", "state_steps")

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        names = "lr lambd alpha t0 weight_decay foreach maximize differentiable capturable"
        super().__init__(params, options_of(locals(), names))

    def _start(self, state: dict[str, Any], parameter: Tensor, group: dict[str, Any]) -> None:
        first_step(state)
        rate = option(group, "lr")
        state["eta"] = rate.clone() if isinstance(rate, Tensor) else count(rate)
        state["mu"] = count(1.0)
        state["ax"] = aten.zeros_like(parameter)

    def _update(
        self, parameter: Tensor, gradient: Tensor, values: dict[str, Any], group: dict[str, Any]
    ) -> None:
        values["step"] += 1
        step, eta, mean = values["step"], values["eta"], values["ax"]
        gradient = decayed(gradient, parameter, group)
        parameter.mul_(1 - group["lambd"] * eta)
        add_scaled(parameter, gradient, -eta)
        if values["mu"] == 1:
            mean.copy_(parameter)
        else:
            mean.add_(parameter - mean, alpha=values["mu"])
        rate = option(group, "lr")
        values["eta"] = rate / (1 + group["lambd"] * rate * step) ** group["alpha"]
        values["mu"] = 1 / max(1, step - group["t0"])


asgd = functional_step(
    ASGD,
    "grads axs mus etas state_steps",
    "foreach maximize differentiable capturable has_complex",
    "lambd lr t0 alpha weight_decay",
)
