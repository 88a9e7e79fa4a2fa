"""Rprop."""

from __future__ import annotations

from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor

from .elementwise import ElementwiseOptimizer, first_step
from .functional_steps import functional_step
from .optimizer import Params
from .options import option, options_of

__all__ = ["Rprop", "rprop"]


class Rprop(ElementwiseOptimizer):
    """Rprop: each element has its own step size, which grows while the sign of its gradient stays
    the same. If the sign changes, the step size shrinks and the element is not updated.

    Parameters
    ----------
    lr : float or Tensor, default 1e-2
        The initial step sizes.
    etas : (float, float), default (0.5, 1.2)
        Factors that shrink and grow the step sizes: ``0 < etas[0] < 1 < etas[1]``.
    step_sizes : (float, float), default (1e-6, 50)
        The smallest and the greatest step size.
    params, capturable, foreach, maximize, differentiable
        As in `Optimizer`.

    Raises
    ------
    ValueError
        For an option out of range.
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(
                f"Invalid eta values: {etas[0]}, {etas[1]}. They must be within (0, 1) and above 1."
            )
        names = "lr etas step_sizes foreach maximize differentiable capturable"
        super().__init__(params, options_of(locals(), names))

    def _start(self, state: dict[str, Any], parameter: Tensor, group: dict[str, Any]) -> None:
        first_step(state)
        state["prev"] = aten.zeros_like(parameter)
        rate = option({**group, "differentiable": False}, "lr")
        rate = complex(rate, rate) if parameter.is_complex() else rate
        state["step_size"] = aten.full_like(parameter, rate)

    def _update(
        self, parameter: Tensor, gradient: Tensor, values: dict[str, Any], group: dict[str, Any]
    ) -> None:
        values["step"] += 1
        shrinking, growing = group["etas"]
        previous, sizes = values["prev"], values["step_size"]
        product = gradient.detach() * previous.detach()
        turned = product < 0
        factor = aten.ones_like(product)
        factor.masked_fill_(product > 0, growing).masked_fill_(turned, shrinking)
        sizes.copy_((sizes * factor).clamp(*group["step_sizes"]))
        gradient = gradient.masked_fill(turned, 0)
        parameter.addcmul_(gradient.sign(), sizes, value=-1)
        previous.copy_(gradient)


rprop = functional_step(
    Rprop,
    "grads prevs step_sizes state_steps",
    "foreach capturable maximize differentiable has_complex",
    "step_size_min step_size_max etaminus etaplus",
)
