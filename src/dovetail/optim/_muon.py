"""Muon."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor

from .functional_steps import check_states
from .optimizer import Optimizer, Params
from .options import check_one_rate, number

__all__ = ["Muon", "muon"]

MOST_ITERATIONS = 100


class Muon(Optimizer):
    """Muon: momentum whose update is replaced by the nearest orthogonal matrix.

    ``b = momentum * b + (1 - momentum) * g``; ``p = (1 - lr * weight_decay) * p - rate * O``, where
    O is computed by Newton-Schulz iterations in bfloat16 from ``b``, or with Nesterov's momentum
    from ``g + momentum * (b - g)``.

    Parameters
    ----------
    params : iterable
        Parameters that are matrices; as in `Optimizer`.
    lr : float or Tensor, default 1e-3
        Learning rate.
    weight_decay : float, default 0.1
        The parameter shrinks by ``lr * weight_decay``.
    momentum : float, default 0.95
        Decay of the momentum buffer.
    nesterov : bool, default True
        Look ahead along the momentum.
    ns_coefficients : (float, float, float), default (3.4445, -4.775, 2.0315)
        Coefficients of the iterated polynomial ``a x + b x**3 + c x**5``.
    eps : float, default 1e-7
        Lower bound of the norm that normalizes the update.
    ns_steps : int, default 5
        Iterations.
    adjust_lr_fn : {'original', 'match_rms_adamw'}, optional
        Dependence of the rate on the shape (A, B): ``lr * sqrt(max(1, A / B))``, the default, or
        ``lr * 0.2 * sqrt(max(A, B))``.

    Raises
    ------
    ValueError
        For an option out of range, or a parameter that is not a matrix.
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_one_rate(lr)
        for text, value in (
            ("Learning rate", number(lr)),
            ("momentum", momentum),
            ("weight decay", weight_decay),
        ):
            if not value >= 0.0:
                raise ValueError(f"{text} should be >= 0 but is: {value}. Give another.")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(
                f"Adjust learning rate function {adjust_lr_fn} is not supported. Give 'original' "
                "or 'match_rms_adamw'."
            )
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.dim() != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with size: "
                        f"{parameter.size()}. Give it to another optimizer."
                    )

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        return self._step_groups(closure, self._step_group)

    def _step_group(self, group: dict[str, Any]) -> None:
        given = [each for each in group["params"] if each.grad is not None]
        _refuse_complex(given)
        for parameter in given:
            state, gradient = self.state[parameter], parameter.grad
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = aten.zeros_like(gradient)
            _update(parameter, gradient, state["momentum_buffer"], group)


def muon(
    params: list[Tensor],
    grads: list[Tensor],
    muon_momentum_bufs: list[Tensor],
    *,
    foreach: bool | None = None,
    lr: float,
    weight_decay: float,
    momentum: float,
    nesterov: bool,
    ns_coefficients: tuple[float, float, float],
    ns_steps: int,
    eps: float,
    adjust_lr_fn: str | None,
    has_complex: bool,
) -> None:
    """Take a step of `Muon` for each parameter; parameters and buffers change in place.

    Parameters
    ----------
    params, grads, muon_momentum_bufs
        Matrices, their gradients and their momentum.
    foreach
        None or False: the steps are taken one by one.
    lr, weight_decay, momentum, nesterov, ns_coefficients, ns_steps, eps, adjust_lr_fn
        As in `Muon`.
    has_complex
        False.

    Raises
    ------
    RuntimeError
        For `foreach`, or complex parameters.
    IndexError
        If a list is shorter than the list of parameters; nothing is changed then.
    """
    if foreach:
        raise RuntimeError("Foreach is not supported for Muon yet. Leave it out.")
    check_states(params, {"grad": grads, "muon_momentum_buf": muon_momentum_bufs})
    _refuse_complex(params)
    group = {
        "lr": lr,
        "weight_decay": weight_decay,
        "momentum": momentum,
        "nesterov": nesterov,
        "ns_coefficients": ns_coefficients,
        "ns_steps": ns_steps,
        "eps": eps,
        "adjust_lr_fn": adjust_lr_fn,
    }
    for parameter, gradient, buffer in zip(params, grads, muon_momentum_bufs, strict=False):
        _update(parameter, gradient, buffer, group)


def _update(parameter: Tensor, gradient: Any, buffer: Tensor, group: dict[str, Any]) -> None:
    rate, momentum = number(group["lr"]), group["momentum"]
    buffer.lerp_(gradient, 1 - momentum)
    update = gradient.lerp(buffer, momentum) if group["nesterov"] else buffer
    update = _orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
    parameter.mul_(1 - rate * group["weight_decay"])
    factor = _shape_factor(group["adjust_lr_fn"], *parameter.shape)
    parameter.add_(update.to(parameter.dtype), alpha=-rate * factor)


def _refuse_complex(parameters: list[Tensor]) -> None:
    if any([each.is_complex() for each in parameters]):
        raise RuntimeError("Muon does not support complex parameters. Use Adam for them.")


def _shape_factor(rule: str | None, rows: int, columns: int) -> float:
    if rule == "match_rms_adamw":
        return float(0.2 * max(rows, columns) ** 0.5)
    return float(max(1.0, rows / columns) ** 0.5)


def _orthogonal(
    matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float
) -> Tensor:
    """Return about the nearest orthogonal matrix, in bfloat16. Raises ValueError for a hundred
    iterations or more, or other than three coefficients.
    """
    if steps >= MOST_ITERATIONS:
        raise ValueError(
            f"Number of steps must be less than {MOST_ITERATIONS} for computational efficiency. "
            "Give fewer ns_steps."
        )
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values. Give three.")
    a, b, c = coefficients
    result: Tensor = matrix.bfloat16()
    is_tall = matrix.size(0) > matrix.size(1)
    if is_tall:
        result = result.T
    result = result.div(result.norm().clamp(min=eps))
    for _ in range(steps):
        gram = result @ result.T
        polynomial = aten.addmm(gram, gram, gram, beta=b, alpha=c)
        result = aten.addmm(result, polynomial, result, beta=a)
    return result.T if is_tall else result
