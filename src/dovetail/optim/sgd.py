"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from dovetail_aten import Tensor

from .optimizer import Optimizer, Params
from .options import add_scaled, check_flags, check_non_negative, learning_rate

__all__ = ["SGD"]


class SGD(Optimizer):
    """Stochastic gradient descent, optionally with (Nesterov) momentum.

    Parameters
    ----------
    params : iterable
        As in `Optimizer`.
    lr : float or Tensor, default 1e-3
        Learning rate.
    momentum : float, default 0
        Share of the previous update that is kept; the first momentum buffer is the gradient.
    dampening : float, default 0
        What to leave out of each later gradient added to the momentum buffer.
    weight_decay : float, default 0
        Factor of the parameter added to its gradient.
    nesterov : bool, default False
        Look ahead along the momentum.
    maximize : bool, default False
        Go up instead of down.
    foreach, fused : bool, optional
        Accepted; they do not change the result.
    differentiable : bool, default False
        Record `step`, so that what it computes can be differentiated; see `Optimizer`.

    Raises
    ------
    ValueError
        For a negative option, or Nesterov without momentum or with dampening.
    """

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
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_non_negative(learning_rate=lr, momentum_value=momentum)
        if weight_decay < 0.0:
            raise ValueError(
                f"Invalid weight_decay value: {weight_decay}. It must not be negative."
            )
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(
                "Nesterov momentum requires a momentum and zero dampening. Pass momentum=0.9, say."
            )
        check_flags(differentiable=differentiable, foreach=foreach, fused=fused)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        return self._step_groups(closure, self._step_group)

    def _step_group(self, group: dict[str, Any]) -> None:
        rate = learning_rate(group)
        momentum, decay, nesterov = group["momentum"], group["weight_decay"], group["nesterov"]
        if momentum == 0 and decay == 0:
            scale = rate if group["maximize"] else -rate
            for parameter in group["params"]:
                gradient = parameter.grad
                if gradient is not None:
                    add_scaled(parameter, gradient, scale)
            return
        fresh = 1 - group["dampening"]
        for parameter in group["params"]:
            gradient = parameter.grad
            if gradient is None:
                continue
            if group["maximize"]:
                gradient = gradient.neg()
            if decay != 0:
                gradient = gradient.add(parameter, alpha=decay)
            if momentum != 0:
                state = self._state_of(parameter, group)
                buffer = state.get("momentum_buffer")
                if buffer is None:
                    state["momentum_buffer"] = buffer = gradient.clone()
                else:
                    buffer.mul_(momentum).add_(gradient, alpha=fresh)
                gradient = gradient.add(buffer, alpha=momentum) if nesterov else buffer
            add_scaled(parameter, gradient, -rate)
