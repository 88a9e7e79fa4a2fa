"""Transforms of vectors to simplices, and of matrices to Cholesky factors."""

from __future__ import annotations

from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import Size, finfo

from .. import linalg
from ..nn.functional import pad, softplus
from . import constraints
from .elementwise_transforms import _Alike
from .utils import tril_matrix_to_vec, vec_to_tril_matrix


class CorrCholeskyTransform(_Alike):
    """Transform vectors of ``n (n - 1) / 2`` numbers to Cholesky factors of n × n correlation
    matrices: their hyperbolic tangents are the partial correlations, and rows have norm 1
    (Lewandowski, Kurowicka and Joe 2009, doi:10.1016/j.jmva.2009.04.008).
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = finfo(x.dtype).eps
        partial = vec_to_tril_matrix(aten.tanh(x).clamp(-1 + eps, 1 - eps), diag=-1)
        # What is left of the length of a row before each of its elements.
        left = (1 - partial**2).sqrt().cumprod(-1)
        made = partial + aten.eye(partial.shape[-1], dtype=x.dtype, device=x.device)
        return made * pad(left[..., :-1], (1, 0), value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = 1 - aten.cumsum(y * y, dim=-1)
        below = tril_matrix_to_vec(pad(left[..., :-1], (1, 0), value=1), diag=-1)
        return aten.atanh(tril_matrix_to_vec(y, diag=-1) / below.sqrt())

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, intermediates: object = None) -> Tensor:
        """Return the log-Jacobian: logarithms of the remaining lengths, and of the slopes of the
        tangents.
        """
        left = 1 - (y * y).cumsum(-1)
        # An element is its partial correlation times the root of what is left before it.
        before = 0.5 * tril_matrix_to_vec(left, diag=-2).log().sum(-1)
        slopes = 2 * (aten.log(aten.full_like(x, 2.0)) - x - softplus(-2.0 * x))
        return before + slopes.sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        count = shape[-1]
        n = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != count:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return Size((*shape[:-1], n, n))

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        n = shape[-1]
        return Size((*shape[:-2], n * (n - 1) // 2))


class SoftmaxTransform(_Alike):
    """``y = softmax(x)``; the inverse is the logarithm, one of several possible inverses."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        shifted = (x - x.max(-1, True)[0]).exp()
        return shifted / shifted.sum(-1, True)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(_Alike):
    """Transform vectors of n numbers to the simplex of n + 1 numbers, by breaking a stick of length
    1.
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _rest(self, count: int, like: Tensor) -> Tensor:
        """Return the logarithms of how many parts are to come: equal parts are the image of 0."""
        return aten.arange(count, 0, -1, dtype=like.dtype, device=like.device).log()

    def _call(self, x: Tensor) -> Tensor:
        limits = finfo(x.dtype)
        broken = aten.sigmoid(x - self._rest(x.shape[-1], x))
        broken = broken.clamp(min=limits.tiny, max=1 - limits.eps)
        left = (1 - broken).cumprod(-1)
        return pad(broken, [0, 1], value=1) * pad(left, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        parts = y[..., :-1]
        left = (1 - parts.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return parts.log() - left.log() + self._rest(parts.shape[-1], y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the log-Jacobian: ``log(y)`` of all parts but the last, plus the terms of the
        remaining stick.
        """
        x = x - self._rest(x.shape[-1], x)
        return (-x + -softplus(-x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return Size((*shape[:-1], shape[-1] - 1))


class LowerCholeskyTransform(_Alike):
    """Transform matrices to lower triangular matrices with positive diagonals, by the exponential
    of the diagonal.
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(_Alike):
    """Transform matrices to positive-definite matrices, through Cholesky factors from
    `LowerCholeskyTransform`.
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(linalg.cholesky(y))
