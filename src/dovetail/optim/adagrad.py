"""Adagrad."""

from __future__ import annotations

from typing import Any, ClassVar

import dovetail_aten as aten
from dovetail_aten import Tensor

from .elementwise import ElementwiseOptimizer, decayed, first_step
from .functional_steps import functional_step
from .optimizer import Params
from .options import add_number, add_quotient, number, option, options_of
from .sparse_adam import with_values

__all__ = ["Adagrad", "adagrad"]


class Adagrad(ElementwiseOptimizer):
    """Adagrad: steps divided by the root of the sum of all previous squared gradients.

    ``s = s + g**2``; ``p = p - lr / (1 + (step - 1) * lr_decay) * g / (sqrt(s) + eps)``.

    Parameters
    ----------
    lr : float or Tensor, default 1e-2
        Learning rate.
    lr_decay : float, default 0
        The rate is divided by ``1 + (step - 1) * lr_decay``.
    weight_decay : float, default 0
        Factor of the parameter added to its gradient.
    initial_accumulator_value : float, default 0
        Initial value of the sums.
    eps : float, default 1e-10
        Value added to the denominator.
    params, foreach, maximize, differentiable, fused
        As in `Optimizer`.

    Raises
    ------
    ValueError
        For a negative option.
    """

    _takes_sparse = True
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
        names = (
            "lr lr_decay eps weight_decay initial_accumulator_value foreach maximize "
            "differentiable fused"
        )
        super().__init__(params, options_of(locals(), names))
        # The sums exist before the first step, as they may start from another value than zero.
        for group in self.param_groups:
            for parameter in group["params"]:
                self._start(self.state[parameter], parameter, group)

    def share_memory(self) -> None:
        """Move the sums and the step counts to shared memory."""
        for group in self.param_groups:
            for parameter in group["params"]:
                for value in self.state[parameter].values():
                    value.share_memory_()

    def _start(self, state: dict[str, Any], parameter: Tensor, group: dict[str, Any]) -> None:
        first_step(state)
        start = group["initial_accumulator_value"]
        start = complex(start, start) if parameter.is_complex() else start
        state["sum"] = aten.full_like(parameter, start)

    def _update(
        self, parameter: Tensor, gradient: Tensor, values: dict[str, Any], group: dict[str, Any]
    ) -> None:
        values["step"] += 1
        factor = -option(group, "lr") / (1 + (values["step"] - 1) * group["lr_decay"])
        if gradient.is_sparse:
            if group["weight_decay"] != 0:
                raise RuntimeError(
                    "weight_decay option is not compatible with sparse gradients. Set it to 0."
                )
            sparse: Any = gradient.coalesce()
            values["sum"].add_(sparse * sparse)
            root = values["sum"].sparse_mask(sparse)._values().sqrt() + group["eps"]
            parameter.add_(with_values(sparse, sparse._values() / root), alpha=number(factor))
            return
        gradient = decayed(gradient, parameter, group)
        total = values["sum"].addcmul_(gradient, gradient)
        denominator = add_number(total.sqrt(), group["eps"], group["differentiable"])
        add_quotient(parameter, gradient, denominator, factor)


adagrad = functional_step(
    Adagrad,
    "grads state_sums state_steps",
    "fused grad_scale found_inf has_sparse_grad foreach differentiable has_complex",
    "lr weight_decay lr_decay eps maximize",
)
