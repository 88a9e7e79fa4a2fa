"""Adam and AdamW."""

from __future__ import annotations

from typing import Any, ClassVar

import dovetail_aten as aten
from dovetail_aten import Tensor

from .elementwise import ElementwiseOptimizer, decayed, shrink
from .functional_steps import functional_step
from .optimizer import Params
from .options import (
    add_number,
    add_quotient,
    check_tensor_options,
    mix,
    mix_square,
    number,
    option,
    options_of,
    root,
)

__all__ = ["Adam", "AdamW", "adam"]


class Adam(ElementwiseOptimizer):
    """Adam: steps scaled by running means of the gradients and of their squares.

    ``m = beta1 * m + (1 - beta1) * g``; ``v = beta2 * v + (1 - beta2) * g**2``;
    ``p = p - lr / (1 - beta1**step) * m / (sqrt(v / (1 - beta2**step)) + eps)``.

    Parameters
    ----------
    lr : float or Tensor, default 1e-3
        Learning rate.
    betas : (float or Tensor, float or Tensor), default (0.9, 0.999)
        Decay of the two running means, each within [0, 1).
    eps : float, default 1e-8
        Value added to the denominator.
    weight_decay : float, default 0
        Factor of the parameter added to its gradient.
    amsgrad : bool, default False
        Divide by the maximum of all previous means of squares.
    params, foreach, maximize, capturable, differentiable, fused
        As in `Optimizer`.
    decoupled_weight_decay : bool, default False
        Decay the parameter itself instead (AdamW).

    Raises
    ------
    ValueError
        For an option out of range, or for tensors where numbers are required.
    """

    _fused_rule = "adam"
    _means = ("exp_avg", "exp_avg_sq")
    _later_options: ClassVar[dict[str, Any]] = {
        "amsgrad": False,
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "fused": None,
    }

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_tensor_options(lr, betas, foreach, capturable)
        names = (
            "lr betas eps weight_decay amsgrad maximize foreach capturable differentiable "
            "fused decoupled_weight_decay"
        )
        super().__init__(params, options_of(locals(), names))

    def _start(self, state: dict[str, Any], parameter: Tensor, group: dict[str, Any]) -> None:
        super()._start(state, parameter, group)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = aten.zeros_like(parameter)

    def _update(
        self, parameter: Tensor, gradient: Tensor, values: dict[str, Any], group: dict[str, Any]
    ) -> None:
        values["step"] += 1
        step, rate, recorded = values["step"], option(group, "lr"), group["differentiable"]
        beta1, beta2 = group["betas"]
        if not recorded:
            beta1, beta2 = number(beta1), number(beta2)
        if group["decoupled_weight_decay"]:
            shrink(parameter, rate, group)
        else:
            gradient = decayed(gradient, parameter, group)
        mean, squares = values["exp_avg"], values["exp_avg_sq"]
        mix(mean, gradient, 1 - beta1)
        mix_square(squares, gradient, beta2)
        if group["amsgrad"]:
            greatest = values["max_exp_avg_sq"]
            before = greatest.clone() if recorded else greatest
            squares = greatest.copy_(aten.maximum(before, squares))
        # The bias corrections are numbers: they go into eps and the step size rather than into
        # another pass.
        correction = root(1 - beta2**step)
        denominator = add_number(squares.sqrt(), group["eps"] * correction, recorded)
        add_quotient(parameter, mean, denominator, -rate * correction / (1 - beta1**step))


class AdamW(Adam):
    """Adam with decoupled weight decay: the parameter itself shrinks by ``lr * weight_decay`` in
    each step.

    Parameters and errors as in `Adam`; ``weight_decay`` defaults to 1e-2.
    """

    _later_options: ClassVar[dict[str, Any]] = {
        **Adam._later_options,
        "decoupled_weight_decay": True,
    }

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )


adam = functional_step(
    Adam,
    "grads exp_avgs exp_avg_sqs max_exp_avg_sqs state_steps",
    "foreach capturable differentiable fused grad_scale found_inf has_complex "
    "decoupled_weight_decay",
    "amsgrad beta1 beta2 lr weight_decay eps maximize",
    only={"max_exp_avg_sqs": lambda options: options["amsgrad"]},
)
