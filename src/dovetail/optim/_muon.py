"""Muon."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor

from .optimizer import Optimizer, Params
from .options import check_one_rate, number

__all__ = ["Muon"]

MOST_ITERATIONS = 100


class Muon(Optimizer):
    """Muon: momentum whose update is replaced by the nearest orthogonal matrix.

    ``b = momentum * b + (1 - momentum) * g``; ``p = (1 - lr * weight_decay) * p - rate * O``, where
    O is computed from ``b``, or from ``g + momentum * (b - g)`` with Nesterov's momentum, by
    iterations of Newton and Schulz in bfloat16.

    Parameters
    ----------
    params : iterable
        Of matrices; as in `Optimizer`.
    lr : float or Tensor, default 1e-3
        Learning rate.
    weight_decay : float, default 0.1
        The parameter shrinks by ``lr * weight_decay``.
    momentum : float, default 0.95
        Share of the buffer that is kept.
    nesterov : bool, default True
        Look ahead along the momentum.
    ns_coefficients : (float, float, float), default (3.4445, -4.775, 2.0315)
        Of the polynomial ``a x + b x**3 + c x**5`` that is iterated.
    eps : float, default 1e-7
        Least norm by which the update is divided at first.
    ns_steps : int, default 5
        Iterations.
    adjust_lr_fn : {'original', 'match_rms_adamw'}, optional
        How the rate depends on the shape (A, B): ``lr * sqrt(max(1, A / B))``, the default, or
        ``lr * 0.2 * sqrt(max(A, B))``.

    Raises
    ------
    ValueError
        For an option out of range, or a parameter that is no matrix.
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
        rate, momentum = number(group["lr"]), group["momentum"]
        given = [each for each in group["params"] if each.grad is not None]
        if any([each.is_complex() for each in given]):
            raise RuntimeError("Muon does not support complex parameters. Use Adam for them.")
        for parameter in given:
            state, gradient = self.state[parameter], parameter.grad
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = aten.zeros_like(gradient)
            buffer = state["momentum_buffer"].lerp_(gradient, 1 - momentum)
            update = gradient.lerp(buffer, momentum) if group["nesterov"] else buffer
            update = _orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
            parameter.mul_(1 - rate * group["weight_decay"])
            factor = _shape_factor(group["adjust_lr_fn"], *parameter.shape)
            parameter.add_(update.to(parameter.dtype), alpha=-rate * factor)


def _shape_factor(rule: str | None, rows: int, columns: int) -> float:
    if rule == "match_rms_adamw":
        return float(0.2 * max(rows, columns) ** 0.5)
    return float(max(1.0, rows / columns) ** 0.5)


def _orthogonal(
    matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float
) -> Tensor:
    """Return about the nearest orthogonal matrix, in bfloat16.

    Raises
    ------
    ValueError
        For a hundred iterations or more, or other than three coefficients.
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
