"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any, ClassVar

from dovetail_aten import Tensor

from .elementwise import ElementwiseOptimizer, decayed
from .functional_steps import functional_step
from .fused_steps import take_fused
from .optimizer import Params
from .options import add_scaled, check_implementation, option, options_of

__all__ = ["SGD", "sgd"]


class SGD(ElementwiseOptimizer):
    """Stochastic gradient descent, optionally with (Nesterov) momentum.

    ``b = momentum * b + (1 - dampening) * g``; ``p = p - lr * b``, or with Nesterov's momentum
    ``p = p - lr * (g + momentum * b)``.

    Parameters
    ----------
    lr : float or Tensor, default 1e-3
        Learning rate.
    momentum : float, default 0
        Weight of the previous update; the first momentum buffer is the gradient.
    dampening : float, default 0
        Fraction of each later gradient that is not added to the momentum buffer.
    weight_decay : float or Tensor, default 0
        Factor of the parameter added to its gradient.
    nesterov : bool, default False
        Look ahead along the momentum.
    params, maximize, foreach, differentiable, fused
        As in `Optimizer`.

    Raises
    ------
    ValueError
        For a negative option, or Nesterov without momentum or with dampening.
    """

    _numbers = ()
    _splits_complex = False
    _fused_rule = "sgd"
    _takes_sparse = True
    _later_options: ClassVar[dict[str, Any]] = {
        "nesterov": False,
        "maximize": False,
        "foreach": None,
        "differentiable": False,
        "fused": False,
    }

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(
                "Nesterov momentum requires a momentum and zero dampening. Pass momentum=0.9, say."
            )
        names = "lr momentum dampening weight_decay nesterov maximize foreach differentiable fused"
        super().__init__(params, options_of(locals(), names))

    def _step_group(self, group: dict[str, Any]) -> None:
        if group["momentum"] == 0:
            self._step_without_state(group)
        else:
            super()._step_group(group)

    def _step_without_state(self, group: dict[str, Any]) -> None:
        """Take steps that are too short to gain anything from others."""
        if group["foreach"] or group["fused"]:
            check_implementation(group, self._captured)
        rate, decay = option(group, "lr"), group["weight_decay"]
        factor = rate if group["maximize"] else -rate
        is_plain = not isinstance(decay, Tensor) and decay == 0
        pairs = [(each, each.grad) for each in group["params"] if each.grad is not None]
        for parameter, gradient in take_fused(self, group, pairs):
            if is_plain:
                add_scaled(parameter, gradient, factor)
            else:
                self._apply(parameter, gradient, {}, group)

    def _start(self, state: dict[str, Any], parameter: Tensor, group: dict[str, Any]) -> None:
        pass  # the first momentum buffer is the first gradient

    def _update(
        self, parameter: Tensor, gradient: Tensor, values: dict[str, Any], group: dict[str, Any]
    ) -> None:
        momentum = group["momentum"]
        gradient = decayed(gradient, parameter, group)
        if momentum != 0:
            buffer = values.get("momentum_buffer")
            if buffer is None:
                buffer = values["momentum_buffer"] = gradient.clone()
            else:
                buffer.mul_(momentum).add_(gradient, alpha=1 - group["dampening"])
            gradient = gradient.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        add_scaled(parameter, gradient, -option(group, "lr"))


sgd = functional_step(
    SGD,
    "d_p_list momentum_buffer_list",
    "has_sparse_grad foreach fused grad_scale found_inf",
    "weight_decay momentum lr dampening nesterov maximize",
    only={"momentum_buffer_list": lambda options: options["momentum"]},
)
