"""Losses of pairs of numbers, and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..machine.threads import split
from .covering import over
from .dense_arrays import are_dense, elementwise, is_float, loops_for

_NONE, _MEAN, _SUM = 0, 1, 2


def _reduced(name: str, x: Any, target: Any, numbers: Any, reduction: int) -> Any:
    """Return the sum or mean of what a loop makes of pairs; None if the arrays do not suit it."""
    if not is_float(x) or x.shape != target.shape or not are_dense(x.dtype, x, target):
        return None
    run = getattr(loops_for(x.dtype), name).ready()
    a, b = x.reshape(-1), target.reshape(-1)
    sums: dict[int, float] = {}

    def piece(start: int, stop: int) -> None:
        sums[start] = run(a[start:stop], b[start:stop], *numbers)

    split(piece, a.size, 0.3 * a.size)
    total = sum([sums[start] for start in sorted(sums)])
    return np.array(total / (a.size if reduction == _MEAN else 1), x.dtype)


@over("mse_loss", least=8192)
def mse_loss(below: Any, x: Any, target: Any, reduction: int = _MEAN) -> Any:
    """Return the square of ``x - target``, reduced."""
    made = None
    if reduction in (_MEAN, _SUM):
        made = _reduced("sum_of_squares", x, target, (0, 0), reduction)
    elif reduction == _NONE:
        made = elementwise("square_of_difference", (x, target), (), 0.3)
    return below(x, target, reduction) if made is None else made


@over("mse_loss_backward", least=1024, counted=1)
def mse_loss_backward(below: Any, grad_output: Any, x: Any, target: Any, reduction: int) -> Any:
    """Return the gradient of `mse_loss` where that is a number."""
    made = None
    if grad_output.size == 1 and grad_output.dtype == x.dtype and reduction in (_MEAN, _SUM):
        factor = 2 / x.size if reduction == _MEAN else 2
        slope = x.dtype.type(grad_output.item()) * x.dtype.type(factor)
        made = elementwise("scaled_difference", (x, target), (slope,), 0.3)
    return below(grad_output, x, target, reduction) if made is None else made


@over("smooth_l1_loss", least=256)
def smooth_l1_loss(
    below: Any, x: Any, target: Any, reduction: int = _MEAN, beta: float = 1.0
) -> Any:
    """Return the Huber loss divided by beta, reduced."""
    made = None
    if beta > 0 and reduction in (_MEAN, _SUM):
        made = _reduced("sum_of_huber", x, target, (beta, beta), reduction)
    elif beta > 0 and reduction == _NONE:
        made = elementwise("huber", (x, target), (beta, beta), 0.3)
    return below(x, target, reduction, beta) if made is None else made


@over("smooth_l1_loss_backward", least=256, counted=1)
def smooth_l1_loss_backward(
    below: Any, grad_output: Any, x: Any, target: Any, reduction: int, beta: float
) -> Any:
    """Return the gradient of `smooth_l1_loss` where that is a number."""
    made = None
    if (
        beta > 0
        and grad_output.size == 1
        and grad_output.dtype == x.dtype
        and reduction in (_MEAN, _SUM)
    ):
        slope = grad_output.item() * (1 / x.size if reduction == _MEAN else 1)
        made = elementwise("huber_backward", (x, target), (beta, beta, slope), 0.3)
    return below(grad_output, x, target, reduction, beta) if made is None else made


@over("huber_loss", least=256)
def huber_loss(below: Any, x: Any, target: Any, reduction: int = _MEAN, delta: float = 1.0) -> Any:
    """Return the Huber loss, reduced."""
    made = None
    if delta > 0 and reduction in (_MEAN, _SUM):
        made = _reduced("sum_of_huber", x, target, (delta, 1), reduction)
    elif delta > 0 and reduction == _NONE:
        made = elementwise("huber", (x, target), (delta, 1), 0.3)
    return below(x, target, reduction, delta) if made is None else made
