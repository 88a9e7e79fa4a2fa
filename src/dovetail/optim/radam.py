"""RAdam."""

from __future__ import annotations

from typing import Any, ClassVar

from dovetail_aten import Tensor

from .elementwise import ElementwiseOptimizer, decayed, shrink
from .functional_steps import functional_step
from .optimizer import Params
from .options import add_number, add_quotient, add_scaled, mix, mix_square, option, options_of

__all__ = ["RAdam", "radam"]


class RAdam(ElementwiseOptimizer):
    """RAdam: Adam with rectified steps while the mean of squares is based on few gradients.

    With ``rho_inf = 2 / (1 - beta2) - 1`` and
    ``rho = rho_inf - 2 * step * beta2**step / (1 - beta2**step)`` the step of Adam is multiplied by
    ``sqrt((rho - 4) (rho - 2) rho_inf / ((rho_inf - 4) (rho_inf - 2) rho))``; while ``rho <= 5``,
    only the mean of gradients is used.

    Parameters
    ----------
    lr : float or Tensor, default 1e-3
        Learning rate.
    betas : (float, float), default (0.9, 0.999)
        Decay of the two running means, each within [0, 1).
    eps : float, default 1e-8
        Value added to the denominator.
    weight_decay : float, default 0
        Factor of the parameter added to its gradient.
    decoupled_weight_decay : bool, default False
        Decay the parameter itself instead.
    params, foreach, maximize, capturable, differentiable
        As in `Optimizer`.

    Raises
    ------
    ValueError
        For an option out of range.
    """

    _means = ("exp_avg", "exp_avg_sq")
    _later_options: ClassVar[dict[str, Any]] = {
        **ElementwiseOptimizer._later_options,
        "decoupled_weight_decay": False,
    }

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        names = (
            "lr betas eps weight_decay maximize foreach capturable decoupled_weight_decay "
            "differentiable"
        )
        super().__init__(params, options_of(locals(), names))

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
        rate = rate / (1 - beta1**step)
        rectification = rectified(step, beta2)
        if rectification is None:
            add_scaled(parameter, mean, -rate)
            return
        denominator = add_number(squares.sqrt(), group["eps"], group["differentiable"])
        factor = rectification * (1 - beta2**step) ** 0.5
        add_quotient(parameter, mean, denominator, -rate * factor)


def rectified(step: float, beta: float) -> float | None:
    """Return the factor of a step of RAdam; None where it has no denominator yet."""
    greatest = 2 / (1 - beta) - 1
    length = greatest - 2 * step * beta**step / (1 - beta**step)
    if length <= 5.0:
        return None
    ratio = (length - 4) * (length - 2) * greatest / ((greatest - 4) * (greatest - 2) * length)
    return float(ratio**0.5)


radam = functional_step(
    RAdam,
    "grads exp_avgs exp_avg_sqs state_steps",
    "decoupled_weight_decay foreach differentiable capturable has_complex maximize",
    "beta1 beta2 lr weight_decay eps",
)
