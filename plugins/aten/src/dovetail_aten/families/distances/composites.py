"""Distances between vectors in terms of other operators."""

from __future__ import annotations

from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_aten.kernel_support.checks.margin_checks import check_pdist
from dovetail_aten.kernel_support.geometry.broadcasting import broadcast_shapes
from dovetail_kernel import float32, float64, promote_types

from ...typing import Scalar, Tensor, TensorLike

_FEW = 25
"""Vectors up to which all differences are made; beyond, distances come from a matrix product."""

_MANY = 1 << 16
"""Differences that `pdist` makes at a time, which the cache holds."""

_IF_NECESSARY, _ALWAYS, _NEVER = range(3)


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False
) -> Any:
    """Return the `p`-norms of ``x1 - x2 + eps`` along the last dimension."""
    last = max(x1.ndim, x2.ndim) - 1
    return F.linalg_vector_norm(F.add(F.sub(x1, x2), eps), p, (last,), keepdim)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-08) -> Any:
    """Return the sums of ``x1 * x2`` along `dim`, of vectors made of length 1; a length is at least
    `eps`.
    """
    if not eps >= 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps}. Give 0 or more.")
    common = promote_types(x1.dtype, x2.dtype)
    if not common.is_floating_point:
        raise RuntimeError(
            f"expected common dtype to be floating point, yet common dtype is {common.scalar_name}."
            " Convert the tensors."
        )
    shape = broadcast_shapes([x1.shape, x2.shape])
    given = [x if x.dtype is common else F.to(x, common) for x in (x1, x2)]
    units = [_unit(x if x.shape == shape else F.expand(x, shape), dim, eps) for x in given]
    return F.sum(F.mul(*units), (dim,))


def _unit(x: Tensor, dim: int, eps: float) -> Any:
    return F.div(x, F.clamp_min(F.linalg_vector_norm(x, 2, (dim,), True), eps))


def dist(self: Tensor, other: Tensor, p: Scalar = 2) -> Any:
    """Return the `p`-norm of all differences."""
    return F.linalg_vector_norm(F.sub(self, other), p)


def pdist(self: Any, p: float = 2.0) -> Any:
    """Return the distances between every two rows, in the order of the upper triangle."""
    check_pdist(self, p, self.dtype)
    count, width = self.shape
    if count < 2:
        return F.new_empty(self, (0,))
    step = max(1, _MANY // (count * max(1, width)))
    columns = F.contiguous(F.transpose(self, 0, 1))
    parts: list[Any] = []
    for begin in range(0, count - 1, step):
        rows = F.unsqueeze(F.slice(columns, 1, begin, min(begin + step, count - 1)), 2)
        later = F.unsqueeze(F.slice(columns, 1, begin + 1), 1)
        lengths = F.unbind(_lengths(F.permute(F.sub(rows, later), (1, 2, 0)), p))
        parts += [F.slice(each, 0, place) for place, each in enumerate(lengths)]
    return F.cat(parts)


def _lengths(x: Tensor, p: float) -> Any:
    """Return the `p`-norms along the last dimension, which have a gradient whatever they are."""
    if not x.array.shape[-1]:
        return F.sum(x, (-1,))
    if p == 0:
        return F.sum(F.clamp_max(F.ceil(F.abs(x)), 1), (-1,))  # of NaN it is NaN
    return F.linalg_vector_norm(x, p, (-1,))


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: int | None = None) -> Any:
    """Return the distances between every row of `x1` and every row of `x2`, with shape (..., P, R)
    for (..., P, M) and (..., R, M).
    """
    mode = _IF_NECESSARY if compute_mode is None else compute_mode
    _check_cdist(x1, x2, p, mode)
    many = x1.array.shape[-2] > _FEW or x2.array.shape[-2] > _FEW
    if p == 2 and (mode == _ALWAYS or (mode == _IF_NECESSARY and many)):
        return F._euclidean_dist(x1, x2)
    return _lengths(F.sub(F.unsqueeze(x1, -2), F.unsqueeze(x2, -3)), p)


def _check_cdist(x1: Tensor, x2: Tensor, p: float, mode: int) -> None:
    first, second, kind = x1.array.shape, x2.array.shape, x1.dtype
    if (
        len(first) < 2
        or len(second) < 2
        or first[-1] != second[-1]
        or kind is not x2.dtype
        or (kind is not float32 and kind is not float64)
    ):
        _check_operands(x1, x2)
    if not p >= 0:
        raise RuntimeError("cdist only supports non-negative p values. Give 0 or more.")
    if not _IF_NECESSARY <= mode <= _NEVER:
        raise RuntimeError(f"possible modes: 0, 1, 2, but was: {mode}. Give one of them.")


def _check_operands(x1: Tensor, x2: Tensor) -> None:
    """Raise an error for operands that cdist is not defined for."""
    for name, x in (("X1", x1), ("X2", x2)):
        _refuse_numbers(name, x)
        if x.ndim < 2:
            raise RuntimeError(
                f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D. Give one vector "
                "in each row."
            )
        if x.dtype.itemsize < 4:
            raise NotImplementedError(
                f"\"cdist\" not implemented for '{x.dtype.scalar_name}'. Convert to float32 first."
            )
    if x1.dtype is not x2.dtype:
        raise RuntimeError(
            f"expected scalar type {x1.dtype.scalar_name} but found {x2.dtype.scalar_name}. "
            "Convert one."
        )
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: "
            f"{x2.shape[-1]}. Give vectors of one length."
        )


def _refuse_numbers(name: str, x: TensorLike) -> None:
    if not x.dtype.is_floating_point:
        raise RuntimeError(
            f"cdist only supports floating-point dtypes, {name} got: {x.dtype.scalar_name}. "
            "Convert it."
        )


def euclidean_dist(x1: Tensor, x2: Tensor) -> Any:
    """Return the Euclidean distances between rows by ``|a|² - 2 ab + |b|²``, a matrix product."""
    for name, x in (("X1", x1), ("X2", x2)):
        _refuse_numbers(name, x)
    left = F.sum(F.mul(x1, x1), (-1,), True)
    right = F.transpose(F.sum(F.mul(x2, x2), (-1,), True), -2, -1)
    product = F.mul(F.matmul(x1, F.transpose(x2, -2, -1)), -2)
    return F.sqrt(F.clamp_min(F.add(F.add(product, left), right), 0))
