"""Norms of matrices and of vectors, and condition numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dovetail_aten._generated import functions as F

from ....kernel_support.checks.norm_checks import check_wider
from ....kernel_support.dims import wrap_dim
from ....typing import Scalar, Tensor
from ..kernels.matrix_checks import check_inexact, check_matrix, check_square

if TYPE_CHECKING:
    from dovetail_kernel import dtype as DType

_NAME = "linalg.matrix_norm"


def linalg_norm(
    self: Tensor,
    ord: float | None = None,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Any:
    """Return the norm of a vector or matrix; without `ord`, that of all elements over `dim`."""
    _check_dims(self, ord, dim)
    if ord is None or (len(dim) == 1 if dim is not None else self.ndim == 1):
        order = 2 if ord is None else ord
        return F.linalg_vector_norm(self, order, dim, keepdim, dtype=dtype)
    return F.linalg_matrix_norm(self, ord, (0, 1) if dim is None else dim, keepdim, dtype=dtype)


def linalg_norm_by_name(
    self: Any, ord: str, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """Return the Frobenius or nuclear norm of matrices."""
    if dim is not None:
        _check_dims(self, ord, dim)
    return F.linalg_matrix_norm(self, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)


def _check_dims(self: Any, ord: Any, dim: Any) -> None:
    """Raise an error for a norm of anything except vectors and matrices."""
    if dim is not None and len(dim) not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}. Use "
            "linalg.vector_norm."
        )
    if dim is None and ord is not None and self.ndim not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{self.ndim}D. Give dim."
        )


def _matrix_dims(self: Any, dim: Sequence[int], dtype: DType | None) -> tuple[int, int]:
    """Return the two dimensions of matrices, counted from 0; refuse what has none."""
    check_matrix(_NAME, self.shape)
    if len(dim) != 2:
        given = " ".join([str(each) for each in dim])
        raise RuntimeError(f"{_NAME}: dim must be a 2-tuple. Got {given}")
    check_inexact(_NAME, self.dtype)
    first, second = (wrap_dim(each, self.ndim) for each in dim)
    if first == second:
        raise RuntimeError(
            f"{_NAME}: dims must be different. Got ({dim[0]}, {dim[1]}). Name two dimensions."
        )
    if dtype is not None:
        check_wider(_NAME, self.dtype, dtype)
    return first, second


def linalg_matrix_norm(
    self: Tensor,
    ord: Scalar,
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Any:
    """Return a norm of matrices: for 1 and infinity the greatest sum of a column or a row, for 2
    the greatest singular value; for their negatives the least.
    """
    if isinstance(ord, complex):
        raise RuntimeError(f"{_NAME}: Expected a non-complex scalar as the order of norm.")
    first, second = _matrix_dims(self, dim, dtype)
    if abs(ord) not in (1, 2, math.inf):
        shown = int(ord) if ord == ord // 1 else ord
        raise RuntimeError(
            f"{_NAME}: Order {shown} not supported. It is 1, 2, inf, their negatives, 'fro' or "
            "'nuc'."
        )
    matrices = self if dtype is None else F.to(self, dtype)
    if abs(ord) == 2:
        made = F._linalg_singular_norm(
            _at_the_end(matrices, first, second), "2" if ord > 0 else "-2"
        )
        return _with_dims(made, first, second) if keepdim else made
    extreme = F.amax if ord > 0 else F.amin
    if abs(ord) == math.inf:
        first, second = second, first
    sums = F.linalg_vector_norm(matrices, 1, (first,), keepdim)
    place = second if keepdim or second < first else second - 1
    if not sums.shape[place]:
        return _extreme(sums, place, ord, keepdim)
    return extreme(sums, (place,), keepdim)


def _extreme(values: Tensor, dim: int, ord: Any, keepdim: bool = False) -> Any:
    """Return the greatest or least of `values` along a dimension; of none, 0 is the greatest."""
    if not values.shape[dim] and ord > 0:
        return F.sum(values, (dim,), keepdim)
    return (F.amax if ord > 0 else F.amin)(values, (dim,), keepdim)


def singular_norm(A: Tensor, ord: str) -> Any:
    """Return the sum ("nuc"), the greatest ("2") or the least ("-2") of the singular values."""
    values = F.linalg_svdvals(A)
    return F.sum(values, (-1,)) if ord == "nuc" else _extreme(values, -1, int(ord))


def singular_norm_gradient(A: Tensor, ord: str) -> Any:
    """Return the gradient of `singular_norm`: the sum of ``u_i v_i^H`` over all singular values for
    "nuc", else the mean over those that equal the extreme one.
    """
    u, values, vh = F._linalg_svd(A, False)
    if ord != "nuc":
        extreme = F.slice(values, -1, 0, 1) if ord == "2" else F.slice(values, -1, -1)
        weights = F.to(F.eq(values, extreme), values.dtype)
        u = F.mul(u, F.unsqueeze(F.div(weights, F.sum(weights, (-1,), True)), -2))
    return F.matmul(u, vh)


def linalg_matrix_norm_by_name(
    self: Tensor,
    ord: str = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Any:
    """Return the Frobenius norm, the root of the sum of squares, or the nuclear norm, the sum of
    the singular values.
    """
    first, second = _matrix_dims(self, dim, dtype)
    if ord not in ("fro", "nuc"):
        raise RuntimeError(f"{_NAME}: Order {ord} not supported. It is 'fro', 'nuc' or a number.")
    if ord == "fro":
        return F.linalg_vector_norm(self, 2, (first, second), keepdim, dtype=dtype)
    matrices = self if dtype is None else F.to(self, dtype)
    made = F._linalg_singular_norm(_at_the_end(matrices, first, second), "nuc")
    return _with_dims(made, first, second) if keepdim else made


def _at_the_end(x: Tensor, first: int, second: int) -> Any:
    """Return `x` with two dimensions moved to its end."""
    rest = [dim for dim in range(x.ndim) if dim not in (first, second)]
    return F.permute(x, (*rest, first, second))


def _with_dims(made: Any, first: int, second: int) -> Any:
    """Return what was reduced over two dimensions with these at size 1."""
    for dim in sorted((first, second)):
        made = F.unsqueeze(made, dim)
    return made


def nuclear_norm(self: Tensor, keepdim: bool = False) -> Any:
    """Return the sum of the singular values of matrices."""
    return F.linalg_matrix_norm(self, "nuc", (-2, -1), keepdim)


def nuclear_norm_dim(self: Tensor, dim: Sequence[int], keepdim: bool = False) -> Any:
    """Return the sum of the singular values of matrices over two dimensions."""
    return F.linalg_matrix_norm(self, "nuc", dim, keepdim)


def frobenius_norm_dim(self: Tensor, dim: Sequence[int], keepdim: bool = False) -> Any:
    """Return the root of the sum of squares over dimensions."""
    return F.linalg_vector_norm(self, 2, dim, keepdim)


# -- condition numbers -----------------------------------------------------------------------------


def linalg_cond(self: Tensor, p: Scalar | None = None) -> Any:
    """Return the norms of matrices times those of their inverses; for 2, the ratio of the greatest
    and the least singular value.
    """
    _check_condition(self)
    if p is not None and abs(p) not in (1, 2, math.inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if not math.prod(self.shape):
        return F.new_zeros(self, tuple(self.shape[:-2]), dtype=self.dtype.to_real())
    if p is None or abs(p) == 2:
        greatest, least = (F._linalg_singular_norm(self, order) for order in ("2", "-2"))
        return F.div(least, greatest) if p == -2 else F.div(greatest, least)
    return _cond_by_inverse(self, p)


def _check_condition(self: Any) -> None:
    """Raise an error for anything except a matrix."""
    if self.ndim < 2:
        raise RuntimeError(
            "linalg.cond: The input tensor must have at least 2 dimensions. Use unsqueeze."
        )


def linalg_cond_by_name(self: Tensor, p: str) -> Any:
    """Return the norms of matrices times those of their inverses."""
    _check_condition(self)
    if p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    return _cond_by_inverse(self, p)


def _cond_by_inverse(self: Any, p: Any) -> Any:
    """Return the product of the norms of matrix and inverse; infinity where there is none."""
    check_square(f"linalg.cond(ord={p})", self.shape)
    if not math.prod(self.shape):
        return F.new_zeros(self, tuple(self.shape[:-2]), dtype=self.dtype.to_real())
    inverse, info = F.linalg_inv_ex(self)
    singular = F.ne(info, 0)
    finite = F.masked_fill(inverse, F.unsqueeze(F.unsqueeze(singular, -1), -1), 0)
    product = F.mul(F.linalg_matrix_norm(self, p), F.linalg_matrix_norm(finite, p))
    return F.masked_fill(product, singular, math.inf)
