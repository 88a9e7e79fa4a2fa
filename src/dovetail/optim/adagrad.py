"""Adagrad."""

from __future__ import annotations

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

__all__ = ["Adagrad"]


class Adagrad(Optimizer):
    """Adagrad: steps divided by the root of the sum of all squared gradients so far.

    Parameters
    ----------
    params : iterable
        As in `Optimizer`.
    lr : float or Tensor, default 1e-2
        Learning rate.
    lr_decay : float, default 0
        The rate is divided by ``1 + (step - 1) * lr_decay``.
    weight_decay : float, default 0
        Factor of the parameter added to its gradient.
    initial_accumulator_value : float, default 0
        What the sums start from.
    eps : float, default 1e-10
        Added to the denominator.
    maximize : bool, default False
        Go up instead of down.
    foreach, fused : bool, optional
        Accepted; they do not change the result.
    differentiable : bool, default False
        Record `step`, so that what it computes can be differentiated; see `Optimizer`.

    Raises
    ------
    ValueError
        For a negative option.
    """

    _later_options: ClassVar[dict[str, Any]] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "fused": None,
    }

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_non_negative(learning_rate=lr)
        for name, value in (
            ("lr_decay", lr_decay),
            ("weight_decay", weight_decay),
            ("initial_accumulator_value", initial_accumulator_value),
            ("epsilon", eps),
        ):
            if not value >= 0.0:
                raise ValueError(f"Invalid {name} value: {value}. It must not be negative.")
        check_flags(differentiable=differentiable, foreach=foreach, fused=fused)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        super().add_param_group(param_group)
        # The sums exist before the first step, as they may start from another value than zero.
        group = self.param_groups[-1]
        for parameter in group["params"]:
            total = aten.full_like(parameter, group["initial_accumulator_value"])
            self.state[parameter] = {"step": aten.tensor(0.0), "sum": total}

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        return self._step_groups(closure, self._step_group)

    def _step_group(self, group: dict[str, Any]) -> None:
        rate = learning_rate(group)
        for parameter in group["params"]:
            gradient = parameter.grad
            if gradient is None:
                continue
            state = self._state_of(parameter, group)
            step = state["step"].add_(1).item()
            if group["maximize"]:
                gradient = gradient.neg()
            if group["weight_decay"] != 0:
                gradient = gradient.add(parameter, alpha=group["weight_decay"])
            total = state["sum"].addcmul_(gradient, gradient)
            root = add_number(total.sqrt(), group["eps"], group["differentiable"])
            factor = -rate / (1 + (step - 1) * group["lr_decay"])
            add_quotient(parameter, gradient, root, factor)
