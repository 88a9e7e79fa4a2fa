"""Inverses, determinants, ranks and solutions of linear equations, in terms of others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_kernel import finfo, int32, int64

from ....typing import Tensor, TensorLike
from ..kernels.matrix_checks import (
    check_inexact,
    check_matrix,
    check_square,
    failure,
    refuse_dtypes,
)

_REASONS = {
    "linalg.inv": "inv",
    "cholesky_inverse": "inv",
    "linalg.cholesky": "cholesky",
    "cholesky": "cholesky",
    "torch.linalg.solve": "solve",
    "torch.linalg.lu_factor": "lu",
    "torch.linalg.ldl_factor": "ldl",
}


def _linalg_check_errors(info: Tensor, api_name: str, *, is_matrix: bool) -> None:
    """Raise the error of the first matrix that LAPACK gives an info of."""
    if info.dtype is not int32:
        raise RuntimeError(f"{api_name}: the infos of LAPACK are int32, not {info.dtype}.")
    found = info.tolist() if info.ndim < 2 else info.reshape(-1).tolist()
    infos = found if info.ndim else [found]
    if any(infos):
        shape = () if is_matrix else (len(infos),)
        raise failure(api_name, _REASONS[api_name], infos, shape)


def refusing_failures(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return what calls a function of matrices that returns LAPACK's info last, and returns its
    other results, or raises the error of `name` if a matrix failed.
    """

    def checked(A: Tensor, *operands: object, **options: object) -> Any:
        *made, info = function(A, *operands, **options)
        F._linalg_check_errors(info, name, is_matrix=A.ndim == 2)
        return made[0] if len(made) == 1 else tuple(made)

    return checked


linalg_inv = refusing_failures(F.linalg_inv_ex, "linalg.inv")
linalg_solve = refusing_failures(F.linalg_solve_ex, "torch.linalg.solve")
inverse = F.linalg_inv
det = F.linalg_det


def slogdet(self: Tensor) -> Any:
    """Return the signs and the logarithms of the absolute values of the determinants."""
    return tuple(F.linalg_slogdet(self))


def logdet(self: Tensor) -> Any:
    """Return the logarithms of the determinants: NaN for negative ones, minus infinity for 0."""
    check_square("logdet", self.shape)
    check_inexact("logdet", self.dtype, halves=False)
    sign, logarithm = F.linalg_slogdet(self)
    if self.dtype.is_complex:
        return F.add(F.log(sign), logarithm)
    return F.where(F.eq(sign, -1), math.nan, logarithm)


def linalg_tensorinv(self: Tensor, ind: int = 2) -> Any:
    """Return the inverse of the map that tensordot makes of a tensor, over its last dimensions."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    shape = tuple(self.shape)
    if ind > len(shape):
        raise RuntimeError(f"tensorinv: ind is {ind}, but the tensor has {len(shape)} dimensions.")
    rows, columns = math.prod(shape[:ind]), math.prod(shape[ind:])
    if rows != columns:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {columns} != {rows}. Choose another ind."
        )
    made = F.linalg_inv(F.reshape(self, (rows, columns)))
    return F.reshape(made, (*shape[ind:], *shape[:ind]))


def linalg_tensorsolve(self: Tensor, other: Tensor, dims: Sequence[int] | None = None) -> Any:
    """Return X of ``tensordot(self, X, X.ndim) = other``; `dims` of `self` are moved to its end."""
    if dims is not None:
        self = F.movedim(self, dims, tuple(range(self.ndim - len(dims), self.ndim)))
    kept = tuple(self.shape[other.ndim :])
    columns, rows = math.prod(kept), math.prod(self.shape[: other.ndim])
    if columns != rows:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {columns} != {rows}. Reshape one of them."
        )
    matrix = F.reshape(self, (rows, columns))
    return F.reshape(F.linalg_solve(matrix, F.reshape(other, (-1,))), kept)


# -- ranks and pseudoinverses ----------------------------------------------------------------------


def _check_tolerances(name: str, atol: TensorLike | None, rtol: Any) -> None:
    """Raise an error for complex tolerances."""
    for label, each in (("atol", atol), ("rtol", rtol)):
        if each is not None and each.dtype.is_complex:
            raise RuntimeError(
                f"{name}: {label} tensor of complex type is not supported. Got "
                f"{each.dtype.scalar_name}. Give a real one."
            )


def _least(x: Tensor, greatest: Tensor, atol: Any, rtol: Any) -> Any:
    """Return what values that count are greater than: max(atol, rtol * greatest).

    None is 0 for `atol`, and for `rtol` the precision times the longer side, unless `atol` is
    positive. The greatest values have a last dimension of 1.
    """
    if rtol is None:
        precision = finfo(x.dtype.to_real()).eps * max(x.shape[-2:])
        least = F.mul(greatest, precision)
        if atol is not None:
            least = F.where(_column(F.gt(atol, 0)), F.zeros_like(least), least)
    else:
        least = F.mul(greatest, _column(rtol))
    return least if atol is None else F.maximum(_column(atol), least)


def _column(tolerance: Tensor) -> Any:
    """Return tolerances of matrices so that they broadcast with the values of these."""
    return F.unsqueeze(tolerance, -1) if tolerance.ndim else tolerance


def _number(x: Tensor, value: float | None) -> Any:
    """Return a tolerance as a 0-d tensor of the real dtype of `x`, or None."""
    return None if value is None else F.new_full(x, (), value, dtype=x.dtype.to_real())


def linalg_pinv(
    self: Tensor, *, atol: Tensor | None = None, rtol: object = None, hermitian: bool = False
) -> Any:
    """Return the pseudoinverses: singular values that are greater than max(atol, rtol s) are
    inverted, s being the greatest, and all others are taken for 0.
    """
    own = self.dtype
    if self.ndim < 2 or own.scalar_name not in ("Float", "Double", "ComplexFloat", "ComplexDouble"):
        raise RuntimeError(
            f"linalg.pinv({own.scalar_name}{{{list(self.shape)}}}): expected a tensor with 2 or "
            "more dimensions of float, double, cfloat or cdouble types. Convert or reshape it."
        )
    _check_tolerances("torch.linalg.pinv", atol, rtol)
    if 0 in self.shape:
        *batch, rows, columns = self.shape
        sides = F.new_zeros(self, (*batch, columns, 0)), F.new_zeros(self, (*batch, 0, rows))
        return F.matmul(*sides)
    if hermitian:
        values, left = F.linalg_eigh(self)
        size, right = F.abs(values), _adjoint(left)
        greatest = F.amax(size, (-1,), True)
    else:
        u, values, vh = F.linalg_svd(self, False)
        size, left, right = values, _adjoint(vh), _adjoint(u)
        greatest = F.narrow(values, -1, 0, 1)
    counts = F.gt(size, _least(self, greatest, atol, rtol))
    inverted = F.reciprocal(F.masked_fill(values, F.logical_not(counts), math.inf))
    return F.matmul(F.mul(left, F.unsqueeze(inverted, -2)), right)


def _adjoint(x: Any) -> Any:
    turned = F.transpose(x, -2, -1)
    return F.conj(turned) if x.dtype.is_complex else turned


def linalg_pinv_of_numbers(
    self: Tensor, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False
) -> Any:
    """Return the pseudoinverses, with tolerances that are numbers."""
    given = {"atol": _number(self, atol), "rtol": _number(self, rtol)}
    return F.linalg_pinv_atol_rtol_tensor(self, **given, hermitian=hermitian)


def linalg_pinv_of_rcond(self: Tensor, rcond: float, hermitian: bool = False) -> Any:
    """Return the pseudoinverses, with the relative tolerance alone."""
    return linalg_pinv_of_rcond_tensor(self, _number(self, rcond), hermitian)


def linalg_pinv_of_rcond_tensor(self: Tensor, rcond: Tensor, hermitian: bool = False) -> Any:
    """Return the pseudoinverses, with a relative tolerance for each matrix."""
    none = _number(self, 0.0)
    return F.linalg_pinv_atol_rtol_tensor(self, atol=none, rtol=rcond, hermitian=hermitian)


def pinverse(self: Tensor, rcond: float = 1e-15) -> Any:
    """Return the pseudoinverses."""
    return F.linalg_pinv(self, rcond, False)


def linalg_matrix_rank(
    input: Tensor, *, atol: Any = None, rtol: object = None, hermitian: bool = False
) -> Any:
    """Return how many singular values are greater than max(atol, rtol s), s being the greatest."""
    check_matrix("torch.linalg.matrix_rank", input.shape, "input")
    if input.dtype.scalar_name not in ("Float", "Double", "ComplexFloat", "ComplexDouble"):
        raise RuntimeError(
            "This function doesn't handle types other than float and double. Convert the tensor."
        )
    _check_tolerances("torch.linalg.matrix_rank", atol, rtol)
    if 0 in input.shape:
        return F.new_zeros(input, tuple(input.shape[:-2]), dtype=int64)
    values = F.abs(F.linalg_eigvalsh(input)) if hermitian else F.linalg_svdvals(input)
    greatest = F.amax(values, (-1,), True)
    return F.sum(F.gt(values, _least(input, greatest, atol, rtol)), (-1,))


def linalg_matrix_rank_of_numbers(
    self: Tensor, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False
) -> Any:
    """Return the ranks, with tolerances that are numbers."""
    check_matrix("torch.linalg.matrix_rank", self.shape, "input")
    refused = self.dtype.category < 2
    given = {} if refused else {"atol": _number(self, atol), "rtol": _number(self, rtol)}
    return linalg_matrix_rank(self, **given, hermitian=hermitian)


def linalg_matrix_rank_of_tol(self: Tensor, tol: float, hermitian: bool = False) -> Any:
    """Return the ranks, with an absolute tolerance alone."""
    return linalg_matrix_rank_of_numbers(self, atol=tol, rtol=0.0, hermitian=hermitian)


def linalg_matrix_rank_of_tol_tensor(input: Tensor, tol: object, hermitian: bool = False) -> Any:
    """Return the ranks, with an absolute tolerance for each matrix."""
    none = _number(input, 0.0)
    return linalg_matrix_rank(input, atol=tol, rtol=none, hermitian=hermitian)


def cholesky_inverse(self: Tensor, upper: bool = False) -> Any:
    """Return the inverses of the matrices whose Cholesky factors are given."""
    check_square("cholesky_inverse", self.shape)
    refuse_dtypes("cholesky_inverse_out_cpu", self.dtype)
    n = self.shape[-1]
    if not n:
        return F.clone(self)
    zero = F.eq(F.diagonal(self, 0, -2, -1), 0)
    info = F.mul(F.any(zero, -1), F.add(F.argmax(F.to(zero, int64), -1), 1))
    info = F.to(info, int32)
    F._linalg_check_errors(info, "cholesky_inverse", is_matrix=self.ndim == 2)
    ones = F.eye(n, dtype=self.dtype, device=self.device)
    return F.cholesky_solve(ones, self, upper)
