"""Limiting gradients by norm or by value."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import no_grad


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    given = [parameters] if isinstance(parameters, Tensor) else parameters
    gradients: list[Any] = [parameter.grad for parameter in given]
    return [gradient for gradient in gradients if gradient is not None]


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Return the norm of all ``tensors`` as if they were one vector.

    Parameters
    ----------
    tensors : Tensor or iterable of Tensor
        Any shapes.
    norm_type : float, default 2.0
        The order; may be inf.
    error_if_nonfinite : bool, default False
        Raise if the norm is nan or infinite.
    foreach : bool, optional
        Accepted for compatibility.

    Returns
    -------
    Tensor
        0-dimensional; float32 at least.

    Raises
    ------
    RuntimeError
        If ``error_if_nonfinite`` and the norm is not finite.
    """
    given = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not given:
        return aten.tensor(0.0)
    order = float(norm_type)
    # Half precision would overflow in the squares.
    sizes = [(tensor.float() if tensor.dtype.itemsize < 4 else tensor).abs() for tensor in given]
    total: Tensor
    if math.isinf(order):
        total = aten.stack([size.max().to(sizes[0].device) for size in sizes]).max()
    else:
        sums = [(size * size if order == 2.0 else size.pow(order)).sum() for size in sizes]
        total = aten.stack([part.to(sizes[0].device) for part in sums]).sum().pow(1.0 / order)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so "
            "it cannot be clipped. "
            "To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


@no_grad()
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients in place so that their norm, taken together, is at most ``max_norm``.

    Parameters
    ----------
    parameters : Tensor or iterable of Tensor
        Those without a gradient are skipped.
    max_norm : float
        The greatest norm allowed.
    norm_type, error_if_nonfinite, foreach
        As in `get_total_norm`.

    Returns
    -------
    Tensor
        The norm before scaling.

    Raises
    ------
    RuntimeError
        If ``error_if_nonfinite`` and the norm is not finite; the gradients keep their values.
    """
    gradients = _gradients(parameters)
    total = get_total_norm(gradients, norm_type, error_if_nonfinite, foreach)
    scale = (float(max_norm) / (total + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(scale.to(gradient.device))
    return total


@no_grad()
def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Limit every element of the gradients, in place, to ``± clip_value``."""
    limit = float(clip_value)
    for gradient in _gradients(parameters):
        gradient.clamp_(min=-limit, max=limit)
