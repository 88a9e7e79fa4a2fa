"""Adam and AdamW."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import dovetail_aten as aten
from dovetail_aten import Tensor

from .optimizer import Optimizer, Params
from .options import (
    add_number,
    add_quotient,
    check_flags,
    check_non_negative,
    learning_rate,
)

__all__ = ["Adam", "AdamW"]


class Adam(Optimizer):
    """Adam: steps scaled by running means of the gradients and of their squares.

    Parameters
    ----------
    params : iterable
        As in `Optimizer`.
    lr : float or Tensor, default 1e-3
        Learning rate.
    betas : (float, float), default (0.9, 0.999)
        Decay of the two running means, each within [0, 1).
    eps : float, default 1e-8
        Added to the denominator.
    weight_decay : float, default 0
        Factor of the parameter added to its gradient.
    amsgrad : bool, default False
        Divide by the greatest mean of squares so far.
    maximize : bool, default False
        Go up instead of down.
    decoupled_weight_decay : bool, default False
        Shrink the parameter itself instead (AdamW).
    foreach, fused, capturable : bool, optional
        Accepted; they do not change the result.
    differentiable : bool, default False
        Record `step`, so that what it computes can be differentiated; see `Optimizer`.

    Raises
    ------
    ValueError
        For an option out of range.
    """

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
        betas: tuple[float, float] = (0.9, 0.999),
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
        check_non_negative(learning_rate=lr, epsilon_value=eps)
        for position, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(
                    f"Invalid beta parameter at index {position}: {beta}. It must be within [0, 1)."
                )
        if weight_decay < 0.0:
            raise ValueError(
                f"Invalid weight_decay value: {weight_decay}. It must not be negative."
            )
        check_flags(differentiable=differentiable, foreach=foreach, fused=fused)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        return self._step_groups(closure, self._step_group)

    def _step_group(self, group: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        rate, decay, eps = learning_rate(group), group["weight_decay"], group["eps"]
        decoupled, amsgrad, maximize = (
            group["decoupled_weight_decay"],
            group["amsgrad"],
            group["maximize"],
        )
        recorded = group["differentiable"]
        for parameter in group["params"]:
            gradient = parameter.grad
            if gradient is None:
                continue
            state = self._state_of(parameter, group)
            if not state:
                _start(state, parameter, amsgrad)
            mean, squares = state["exp_avg"], state["exp_avg_sq"]
            step = state["step"].add_(1).item()
            if maximize:
                gradient = gradient.neg()
            if decay != 0:
                if decoupled:
                    parameter.mul_(1 - rate * decay)
                else:
                    gradient = gradient.add(parameter, alpha=decay)
            if gradient.is_complex():
                # Real and imaginary parts are independent parameters; these views share the
                # tensors' memory.
                parameter, gradient, mean, squares = map(
                    _real_view, (parameter, gradient, mean, squares)
                )

            mean.lerp_(gradient, 1 - beta1)
            squares.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
            if amsgrad:
                greatest = _real_view(state["max_exp_avg_sq"])
                before = greatest.clone() if recorded else greatest
                squares = greatest.copy_(aten.maximum(before, squares))
            # The bias corrections are numbers: they go into eps and the step size rather than into
            # another pass.
            correction = math.sqrt(1 - beta2**step)
            denominator = add_number(squares.sqrt(), eps * correction, recorded)
            factor = -rate * correction / (1 - beta1**step)
            add_quotient(parameter, mean, denominator, factor)


def _start(state: dict[str, Any], parameter: Tensor, amsgrad: bool) -> None:
    state["step"] = aten.tensor(0.0)
    state["exp_avg"] = aten.zeros_like(parameter)
    state["exp_avg_sq"] = aten.zeros_like(parameter)
    if amsgrad:
        state["max_exp_avg_sq"] = aten.zeros_like(parameter)


def _real_view(tensor: Tensor) -> Tensor:
    return aten.view_as_real(tensor) if tensor.is_complex() else tensor


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
        betas: tuple[float, float] = (0.9, 0.999),
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
