"""Derivatives of distances, and of lengths."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import TensorBase

from ...derivative_helpers.reductions import norm_backward
from ...kernel_support.checks.norm_checks import SMALL
from ...typing import Namespace, TensorLike


def euclidean_dist_backward(
    k: Namespace, grad: TensorLike, x1: object, x2: object, result: TensorLike
) -> Any:
    """Return the gradient of _euclidean_dist with respect to `x1`; zero where rows are equal."""
    ratio = k.masked_fill(k.div(grad, result), k.eq(result, 0), 0)
    return k.sub(k.mul(x1, k.sum(ratio, (-1,), True)), k.matmul(ratio, x2))


def euclidean_dist_backward_x2(
    k: Namespace, grad: TensorLike, x1: object, x2: object, result: TensorLike
) -> Any:
    """Return the gradient of _euclidean_dist with respect to `x2`."""
    grad, result = k.transpose(grad, -2, -1), k.transpose(result, -2, -1)
    return euclidean_dist_backward(k, grad, x2, x1, result)


def pdist_backward(k: Namespace, grad: TensorLike, self: Any, p: float, result: TensorLike) -> Any:
    """Return the gradient of pdist: what comes to each row from the pairs that it is in."""
    count = self.shape[0]
    if count < 2 or not self.shape[1] or p == 0:
        return k.zeros_like(self)
    if p == 2:
        return _euclidean_backward(k, grad, self, result)
    device = {"device": self.device} if isinstance(self, TensorBase) else {}
    both = k.triu_indices(count, count, 1, **device)
    left, right = k.select(both, 0, 0), k.select(both, 0, 1)
    away = k.sub(k.index_select(self, 0, left), k.index_select(self, 0, right))
    made = norm_backward(k, grad, away, p, result, (-1,), False)
    to_left = k.index_add(k.zeros_like(self), 0, left, made)
    return k.index_add(to_left, 0, right, k.neg(made))


def _euclidean_backward(k: Namespace, grad: TensorLike, self: Any, result: TensorLike) -> Any:
    """Return the gradient of Euclidean distances, by a product with all pairs as a matrix."""
    count = self.shape[0]
    above = k.gt(k.triu(k.new_ones(self, (count, count)), 1), 0)
    places = k.clamp_min(k.sub(k.cumsum(k.reshape(above, (-1,)), 0), 1), 0)
    ratio = k.masked_fill(k.div(grad, result), k.eq(result, 0), 0)
    square = k.reshape(k.index_select(ratio, 0, places), (count, count))
    square = k.masked_fill(square, k.logical_not(above), 0)
    square = k.add(square, k.transpose(square, 0, 1))
    # Of rows that lie close together far from 0 the products would lose digits.
    near = k.sub(self, k.mean(self, (0,), True))
    return k.sub(k.mul(near, k.sum(square, (1,), True)), k.matmul(square, near))


def renorm_backward(k: Any, grad: TensorLike, self: Any, p: object, dim: int, maxnorm: Any) -> Any:
    """Return the gradient of renorm: with n the norm of a part, its factor is ``maxnorm / n`` where
    n is greater than `maxnorm`.
    """
    dims = tuple([axis for axis in range(self.ndim) if axis != dim % self.ndim])
    scaled = k.gt(k.linalg_vector_norm(self, p, dims, True), maxnorm)
    self = k.where(scaled, self, 1)  # what is not scaled may have a norm without a derivative
    norm = k.linalg_vector_norm(self, p, dims, True)
    base = k.add(norm, SMALL)
    along = k.real(k.sum(k.mul(k.conj(self), grad), dims, True))
    to_norm = k.div(k.mul(along, -maxnorm), k.mul(base, base))
    through = norm_backward(k, to_norm, self, p, norm, dims, True)
    shorter = k.mul(grad, k.mul(k.reciprocal(base), maxnorm))
    return k.where(scaled, k.add(shorter, through), grad)
