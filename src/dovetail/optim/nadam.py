"""NAdam."""

from __future__ import annotations

from typing import Any, ClassVar

import dovetail_aten as aten
from dovetail_aten import Tensor

from .elementwise import ElementwiseOptimizer, decayed, first_step, shrink
from .functional_steps import functional_step
from .optimizer import Params
from .options import add_number, add_quotient, count, mix, mix_square, option, options_of

__all__ = ["NAdam", "nadam"]


class NAdam(ElementwiseOptimizer):
    """NAdam: Adam with Nesterov's momentum, which increases with each step.

    ``mu_t = beta1 * (1 - 0.96**(step * momentum_decay) / 2)``; the step of Adam with
    ``(1 - mu_t) / (1 - prod(mu)) * g + mu_(t+1) / (1 - prod(mu) * mu_(t+1)) * m`` for the mean of
    gradients.

    Parameters
    ----------
    lr : float or Tensor, default 2e-3
        Learning rate.
    betas : (float, float), default (0.9, 0.999)
        Decay of the two running means, each within [0, 1).
    eps : float, default 1e-8
        Value added to the denominator.
    weight_decay : float, default 0
        Factor of the parameter added to its gradient.
    momentum_decay : float, default 4e-3
        Rate at which the momentum increases.
    decoupled_weight_decay : bool, default False
        Decay the parameter itself instead.
    params, foreach, maximize, capturable, differentiable
        As in `Optimizer`.

    Raises
    ------
    ValueError
        For an option out of range.
    """

    _numbers = ("step", "mu_product")
    _captured = ("params", "mu_products", "state_steps")
    _later_options: ClassVar[dict[str, Any]] = {
        **ElementwiseOptimizer._later_options,
        "decoupled_weight_decay": False,
    }

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        names = (
            "lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize foreach "
            "capturable differentiable"
        )
        super().__init__(params, options_of(locals(), names))

    def _start(self, state: dict[str, Any], parameter: Tensor, group: dict[str, Any]) -> None:
        first_step(state)
        state["mu_product"] = count(1.0)
        state["exp_avg"] = aten.zeros_like(parameter)
        state["exp_avg_sq"] = aten.zeros_like(parameter)

    def _update(
        self, parameter: Tensor, gradient: Tensor, values: dict[str, Any], group: dict[str, Any]
    ) -> None:
        values["step"] += 1
        step, rate = values["step"], option(group, "lr")
        beta1, beta2 = group["betas"]
        if group["decoupled_weight_decay"]:
            shrink(parameter, rate, group)
        else:
            gradient = decayed(gradient, parameter, group)
        mean, squares = values["exp_avg"], values["exp_avg_sq"]
        mix(mean, gradient, 1 - beta1)
        mix_square(squares, gradient, beta2)
        root = squares.div(1 - beta2**step).sqrt()
        denominator = add_number(root, group["eps"], group["differentiable"])
        decay = group["momentum_decay"]
        mu, following = (beta1 * (1.0 - 0.5 * 0.96 ** (each * decay)) for each in (step, step + 1))
        product = values["mu_product"] = values["mu_product"] * mu
        add_quotient(parameter, gradient, denominator, -rate * (1 - mu) / (1 - product))
        add_quotient(parameter, mean, denominator, -rate * following / (1 - product * following))


nadam = functional_step(
    NAdam,
    "grads exp_avgs exp_avg_sqs mu_products state_steps",
    "decoupled_weight_decay foreach capturable differentiable has_complex maximize",
    "beta1 beta2 lr weight_decay momentum_decay eps",
)
