"""Clipping of gradients by norm or by value."""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor, linalg
from dovetail_autograd import no_grad
from dovetail_kernel import float32, warn_user

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
]


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    given = [parameters] if isinstance(parameters, Tensor) else parameters
    gradients: list[Any] = [parameter.grad for parameter in given]
    return [gradient for gradient in gradients if gradient is not None]


@no_grad()
def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Return the norm of the norms of all ``tensors``; for orders above 0, this is the norm of all
    elements as one vector.

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
    norms = [_norm(tensor, order) for tensor in given]
    total = norms[0]
    if len(norms) > 1:
        total = _norm(aten.stack([_on(norm, total.device) for norm in norms]), order)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so "
            "it cannot be clipped. "
            "To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


def _norm(tensor: Tensor, order: float) -> Tensor:
    # Half precision would overflow in the squares and in the norm.
    is_half = tensor.is_floating_point() and tensor.dtype.itemsize < 4
    kind = float32 if is_half else None
    norm: Tensor = linalg.vector_norm(tensor, order, dtype=kind)
    return norm


def _on(tensor: Tensor, device: Any) -> Tensor:
    """Return a tensor on a device; `to` takes as long as a small norm even where it is there."""
    return tensor if tensor.device == device else tensor.to(device)


@no_grad()
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients in place so that their total norm is at most ``max_norm``.

    Parameters
    ----------
    parameters : Tensor or iterable of Tensor
        Parameters; those without a gradient are skipped.
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
        If ``error_if_nonfinite`` and the norm is not finite; the gradients are then unchanged.
    """
    if isinstance(parameters, types.GeneratorType):
        parameters = list(parameters)
        if not parameters:
            warn_user("`parameters` is an empty generator, no gradient clipping will occur.")
    elif not isinstance(parameters, Tensor):
        parameters = list(parameters)
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,
) -> None:
    """Scale the gradients in place by ``max_norm / total_norm`` if ``total_norm`` is greater than
    ``max_norm``.

    Parameters
    ----------
    parameters : Tensor or iterable of Tensor
        Parameters; those without a gradient are skipped.
    max_norm : float
        The greatest norm allowed.
    total_norm : Tensor
        0-dimensional, as from `get_total_norm`.
    foreach : bool, optional
        Accepted for compatibility.
    """
    scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for gradient in _gradients(parameters):
        gradient.mul_(_on(scale, gradient.device))


@no_grad()
def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Limit every element of the gradients, in place, to ``± clip_value``."""
    limit = float(clip_value)
    for gradient in _gradients(parameters):
        gradient.clamp_(min=-limit, max=limit)


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """`clip_grad_norm_` under its old name; warns."""
    warn_user(
        "`dovetail.nn.utils.clip_grad_norm` is now deprecated in favor of "
        "`dovetail.nn.utils.clip_grad_norm_`.",
        FutureWarning,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)
