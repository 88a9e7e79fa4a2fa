"""Derivatives of running results, of extrema and of moments with several results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...derivative_helpers.missing_gradients import added
from ...derivative_helpers.reductions import (
    mean_backward,
    scale_grad_by_count,
    std_backward,
    sum_backward,
    var_backward,
)
from ...derivative_helpers.shapes import unsqueeze_reduced
from ...typing import Namespace, TensorLike


def nansum_backward(
    k: Namespace, grad: TensorLike, self: Any, dims: Sequence[int], keepdim: bool
) -> Any:
    """Return the gradient of the sum of what is not NaN."""
    return k.mul(sum_backward(k, grad, self.shape, dims, keepdim), k.eq(self, self))


def aminmax_backward(
    k: Namespace,
    grad_min: object,
    grad_max: object,
    self: Any,
    min: object,
    max: object,
    dim: int | None,
    keepdim: bool,
) -> Any:
    """Return the gradient of the least and the greatest elements, shared evenly among equals."""
    dims = None if dim is None else (dim,)
    parts: list[Any] = []
    for grad, found in ((grad_min, min), (grad_max, max)):
        if grad is None:
            parts.append(None)
            continue
        grad = unsqueeze_reduced(k, grad, dims, keepdim, self.ndim)
        found = unsqueeze_reduced(k, found, dims, keepdim, self.ndim)
        parts.append(scale_grad_by_count(k, grad, k.eq(self, found), dims))
    return added(k, *parts)


def var_mean_backward(
    k: Namespace,
    grad_var: object,
    grad_mean: object,
    self: Any,
    dims: object,
    correction: object,
    keepdim: bool,
) -> Any:
    """Return the gradient of the variance and the mean over `dims`."""
    through = of_mean = None
    if grad_var is not None:
        through = var_backward(k, grad_var, self, dims, correction, keepdim)
    if grad_mean is not None:
        of_mean = mean_backward(k, grad_mean, self.shape, dims, keepdim)
    return added(k, through, of_mean)


def std_mean_backward(
    k: Namespace,
    grad_std: object,
    grad_mean: object,
    self: Any,
    std: object,
    dims: object,
    correction: object,
    keepdim: bool,
) -> Any:
    """Return the gradient of the standard deviation and the mean over `dims`."""
    through = of_mean = None
    if grad_std is not None:
        through = std_backward(k, std, grad_std, self, dims, correction, keepdim)
    if grad_mean is not None:
        of_mean = mean_backward(k, grad_mean, self.shape, dims, keepdim)
    return added(k, through, of_mean)


def cummaxmin_backward(k: Namespace, grad: TensorLike, indices: TensorLike, dim: int) -> Any:
    """Return the gradient of running extrema: what comes to each place, added."""
    if not grad.ndim:
        return grad
    return k.scatter_add(k.zeros_like(grad), dim, indices, grad)


def logcumsumexp_backward(
    k: Namespace, grad: TensorLike, self: Any, result: TensorLike, dim: int
) -> Any:
    """Return the gradient of logcumsumexp, ``sum over j >= i of grad_j exp(self_i - result_j)``.

    From the end, ``sums_i = grad_i + exp(result_i - result_(i+1)) sums_(i+1)``, where no factor
    exceeds 1; the sums are made by doubling the distance that they reach.
    """
    if not grad.ndim:
        return grad
    dim %= grad.ndim
    size = grad.shape[dim]
    self, result = k.conj(self), k.conj(result)
    sums, step = grad, 1
    while step < size:
        factor = _exp_of_difference(
            k, k.slice(result, dim, 0, size - step), k.slice(result, dim, step, size)
        )
        further = k.mul(k.slice(sums, dim, step, size), factor)
        near = k.add(k.slice(sums, dim, 0, size - step), further)
        sums = k.cat([near, k.slice(sums, dim, size - step, size)], dim)
        step *= 2
    return k.mul(sums, _exp_of_difference(k, self, result))


def _exp_of_difference(k: Namespace, x: TensorLike, y: TensorLike) -> Any:
    """Return ``exp(x - y)``, which is 1 for equal infinities."""
    return k.exp(k.where(k.eq(x, y), k.mul(k.sub(x, y), 0), k.sub(x, y)))
