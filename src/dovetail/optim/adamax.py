"""Adamax."""

from __future__ import annotations

from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor

from .elementwise import ElementwiseOptimizer, decayed
from .functional_steps import functional_step
from .optimizer import Params
from .options import add_quotient, mix, option, options_of

__all__ = ["Adamax", "adamax"]


class Adamax(ElementwiseOptimizer):
    """Adamax: Adam with a decaying maximum of the gradients in place of the mean of squares.

    ``m = beta1 * m + (1 - beta1) * g``; ``u = max(beta2 * u, |g| + eps)``;
    ``p = p - lr / (1 - beta1**step) * m / u``.

    Parameters
    ----------
    lr : float or Tensor, default 2e-3
        Learning rate.
    betas : (float, float), default (0.9, 0.999)
        Decay of the running mean and of the greatest gradient, each within [0, 1).
    eps : float, default 1e-8
        Value added to the absolute gradient.
    weight_decay : float, default 0
        Factor of the parameter added to its gradient.
    params, foreach, maximize, differentiable, capturable
        As in `Optimizer`.

    Raises
    ------
    ValueError
        For an option out of range.
    """

    _means = ("exp_avg", "exp_inf")

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        names = "lr betas eps weight_decay foreach maximize differentiable capturable"
        super().__init__(params, options_of(locals(), names))

    def _update(
        self, parameter: Tensor, gradient: Tensor, values: dict[str, Any], group: dict[str, Any]
    ) -> None:
        values["step"] += 1
        beta1, beta2 = group["betas"]
        gradient = decayed(gradient, parameter, group)
        mean, greatest = values["exp_avg"], values["exp_inf"]
        mix(mean, gradient, 1 - beta1)
        size = gradient.abs().add_(group["eps"])
        greatest.copy_(aten.maximum(greatest.mul(beta2), size))
        add_quotient(
            parameter, mean, greatest, -option(group, "lr") / (1 - beta1 ** values["step"])
        )


adamax = functional_step(
    Adamax,
    "grads exp_avgs exp_infs state_steps",
    "foreach maximize differentiable capturable has_complex",
    "eps beta1 beta2 lr weight_decay",
)
