"""Derivatives of distances, and of lengths."""

from __future__ import annotations

from typing import Any

from ..array_kernels.norms import SMALL
from .reductions import norm_backward


def euclidean_dist_backward(k: Any, grad: Any, x1: Any, x2: Any, result: Any) -> Any:
    """Return the gradient of _euclidean_dist with respect to `x1`; zero where rows are equal."""
    ratio = k.masked_fill(k.div(grad, result), k.eq(result, 0), 0)
    return k.sub(k.mul(x1, k.sum(ratio, (-1,), True)), k.matmul(ratio, x2))


def euclidean_dist_backward_x2(k: Any, grad: Any, x1: Any, x2: Any, result: Any) -> Any:
    """Return the gradient of _euclidean_dist with respect to `x2`."""
    grad, result = k.transpose(grad, -2, -1), k.transpose(result, -2, -1)
    return euclidean_dist_backward(k, grad, x2, x1, result)


def renorm_backward(k: Any, grad: Any, self: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    """Return the gradient of renorm: with n the norm of a part, its factor is ``maxnorm / n`` where
    n is greater than `maxnorm`.
    """
    dims = tuple([axis for axis in range(self.ndim) if axis != dim % self.ndim])
    norm = k.linalg_vector_norm(self, p, dims, True)
    base = k.add(norm, SMALL)
    along = k.real(k.sum(k.mul(k.conj(self), grad), dims, True))
    to_norm = k.div(k.mul(along, -maxnorm), k.mul(base, base))
    through = norm_backward(k, to_norm, self, p, norm, dims, True)
    scaled = k.mul(grad, k.mul(k.reciprocal(base), maxnorm))
    return k.where(k.gt(norm, maxnorm), k.add(scaled, through), grad)
