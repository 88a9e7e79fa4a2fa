"""Adadelta."""

from __future__ import annotations

from typing import Any

from dovetail_aten import Tensor

from .elementwise import ElementwiseOptimizer, decayed
from .functional_steps import functional_step
from .optimizer import Params
from .options import add_scaled, mix_square, option, options_of

__all__ = ["Adadelta", "adadelta"]


class Adadelta(ElementwiseOptimizer):
    """Adadelta: steps scaled by the running root mean square of the steps divided by the running
    root mean square of the gradients.

    ``v = rho * v + (1 - rho) * g**2``; ``delta = sqrt(u + eps) / sqrt(v + eps) * g``;
    ``u = rho * u + (1 - rho) * delta**2``; ``p = p - lr * delta``.

    Parameters
    ----------
    lr : float or Tensor, default 1.0
        Learning rate.
    rho : float, default 0.9
        Decay of the two running means, within [0, 1].
    eps : float, default 1e-6
        Value added under the roots.
    weight_decay : float, default 0
        Factor of the parameter added to its gradient.
    params, foreach, capturable, maximize, differentiable
        As in `Optimizer`.

    Raises
    ------
    ValueError
        For an option out of range.
    """

    _means = ("square_avg", "acc_delta")

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}. It must be within [0, 1].")
        names = "lr rho eps weight_decay maximize capturable foreach differentiable"
        super().__init__(params, options_of(locals(), names))

    def _update(
        self, parameter: Tensor, gradient: Tensor, values: dict[str, Any], group: dict[str, Any]
    ) -> None:
        values["step"] += 1
        rho, eps = group["rho"], group["eps"]
        gradient = decayed(gradient, parameter, group)
        squares, deltas = values["square_avg"], values["acc_delta"]
        mix_square(squares, gradient, rho)
        step = deltas.add(eps).sqrt() / squares.add(eps).sqrt() * gradient
        mix_square(deltas, step, rho)
        add_scaled(parameter, step, -option(group, "lr"))


adadelta = functional_step(
    Adadelta,
    "grads square_avgs acc_deltas state_steps",
    "capturable foreach differentiable has_complex",
    "lr rho eps weight_decay maximize",
)
