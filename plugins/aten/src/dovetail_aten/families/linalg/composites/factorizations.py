"""Factorizations of matrices, and solutions by them, in terms of others."""

from __future__ import annotations

import math
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_kernel import contiguous_format, warn_user_once

from ....typing import Tensor
from ..kernels.factor_checks import check_lu_solve, check_ormqr, check_reflections
from ..kernels.matrix_checks import check_old_system, check_square, refuse_dtypes
from .linear_systems import refusing_failures


def _adjoint(x: Any) -> Any:
    return F.conj(F.transpose(x, -2, -1))


linalg_cholesky = refusing_failures(F.linalg_cholesky_ex, "linalg.cholesky")
linalg_lu_factor = refusing_failures(F.linalg_lu_factor_ex, "torch.linalg.lu_factor")
linalg_ldl_factor = refusing_failures(F.linalg_ldl_factor_ex, "torch.linalg.ldl_factor")


def cholesky(self: Tensor, upper: bool = False) -> Any:
    """Return the triangular factor of positive-definite matrices."""
    _warn_of_old("cholesky", "linalg.cholesky", "cholesky(A, upper=True) is linalg.cholesky(A).mH.")
    check_square("cholesky", self.shape)
    refuse_dtypes("cholesky_cpu", self.dtype)
    return refusing_failures(F.linalg_cholesky_ex, "cholesky")(self, upper=upper)


def cholesky_solve(self: Tensor, input2: Tensor, upper: bool = False) -> Any:
    """Return the solutions of ``A X = self`` for the matrices whose Cholesky factors are given."""
    check_old_system("cholesky_solve", input2.shape, self.shape, input2.dtype, self.dtype)
    refuse_dtypes("cholesky_solve_cpu", self.dtype)
    lower = _adjoint(input2) if upper else input2
    half = F.linalg_solve_triangular(lower, self, upper=False)
    return F.linalg_solve_triangular(_adjoint(lower), half, upper=True)


# -- LU and LDL ------------------------------------------------------------------------------------


def _lu_with_info(self: Tensor, pivot: bool = True, check_errors: bool = True) -> Any:
    """Return both triangular factors in one matrix, the pivots and LAPACK's info."""
    _warn_of_old("lu", "linalg.lu_factor", "lu(A, get_infos=True) is linalg.lu_factor_ex(A).")
    return tuple(F.linalg_lu_factor_ex(self, pivot=pivot, check_errors=check_errors))


def linalg_lu(A: Tensor, *, pivot: bool = True) -> Any:
    """Return the permutation and both triangular factors."""
    if A.ndim < 2:
        raise RuntimeError(
            f"linalg.lu: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} "
            "instead. Use unsqueeze for a vector."
        )
    lu, pivots, _ = F.linalg_lu_factor_ex(A, pivot=pivot)
    return tuple(F.lu_unpack(lu, pivots))


def linalg_lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False
) -> Any:
    """Return the solutions of ``A X = B`` for the matrices whose LU factors are given, or of those
    with A on the right, or with its conjugate transpose.
    """
    check_lu_solve(LU, pivots, B, LU.dtype, pivots.dtype, B.dtype, left)
    permutation, lower, upper = F.lu_unpack(LU, pivots)
    if adjoint:
        lower, upper = _adjoint(lower), _adjoint(upper)
    first: Any = {"upper": adjoint, "left": left, "unitriangular": True}
    second: Any = {"upper": not adjoint, "left": left}
    if left and not adjoint:
        made = F.linalg_solve_triangular(lower, F.matmul(_turned(permutation), B), **first)
        return F.linalg_solve_triangular(upper, made, **second)
    if left:
        made = F.linalg_solve_triangular(upper, B, **second)
        made = F.matmul(permutation, F.linalg_solve_triangular(lower, made, **first))
        return _by_columns(made)
    if adjoint:
        made = F.linalg_solve_triangular(lower, F.matmul(B, permutation), **first)
        return F.contiguous(F.linalg_solve_triangular(upper, made, **second))
    made = F.linalg_solve_triangular(upper, B, **second)
    return F.matmul(F.linalg_solve_triangular(lower, made, **first), _turned(permutation))


def _turned(x: Tensor) -> Any:
    return F.transpose(x, -2, -1)


def _by_columns(x: Tensor) -> Any:
    """Return matrices that lie in memory column by column, as LAPACK's do."""
    return _turned(F.contiguous(_turned(x)))


def lu_solve(self: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Any:
    """Return the solutions of ``A X = self`` for the matrices whose LU factors are given."""
    _warn_of_old(
        "lu_solve", "linalg.lu_solve", "lu_solve(B, LU, pivots) is linalg.lu_solve(LU, pivots, B)."
    )
    return F.linalg_lu_solve(LU_data, LU_pivots, self)


def triangular_solve(
    self: Any, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """Return the solutions of ``A X = self`` for triangular matrices, and a copy of these."""
    _warn_of_old(
        "triangular_solve",
        "linalg.solve_triangular",
        "triangular_solve(B, A, upper).solution is linalg.solve_triangular(A, B, upper=upper).",
    )
    if self.ndim < 2 or A.ndim < 2:
        name, ndim = ("b", self.ndim) if self.ndim < 2 else ("A", A.ndim)
        raise RuntimeError(
            f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it has "
            f"{ndim} dimensions instead. Use unsqueeze."
        )
    batch = check_old_system("triangular_solve", A.shape, self.shape, A.dtype, self.dtype)
    matrix = _turned(A) if transpose else A
    made = F.linalg_solve_triangular(
        matrix, self, upper=upper is not transpose, unitriangular=unitriangular
    )
    turned = F.expand(_turned(A), (*batch, *A.shape[-2:]))
    return made, _turned(F.clone(turned, memory_format=contiguous_format))


# -- QR --------------------------------------------------------------------------------------------


def qr(self: Tensor, some: bool = True) -> Any:
    """Return an orthonormal and an upper triangular factor, the smallest ones or complete."""
    _warn_of_old(
        "qr", "linalg.qr", "qr(A, some) is linalg.qr(A, 'reduced' if some else 'complete')."
    )
    return tuple(F.linalg_qr(self, "reduced" if some else "complete"))


def ones_on_diagonal(x: Tensor, rows: int, columns: int) -> Any:
    """Return a matrix of ones on the diagonal, like `x`."""
    made = F.eye(max(rows, columns), dtype=x.dtype, device=x.device)
    if rows == columns:
        return made
    return F.narrow(made, 1 if rows > columns else 0, 0, min(rows, columns))


def _reflections(input: Tensor, tau: Tensor) -> tuple[Any, Any]:
    """Return V and W with ``Q = I - V W`` for the product Q of reflections ``I - tau v v^H``.

    V has the vectors of LAPACK's form as columns. W is T V^H, T^-1 being the upper triangle of
    V^H V with 1 / tau on the diagonal.
    """
    count = tau.shape[-1]
    ones = ones_on_diagonal(input, input.shape[-2], count)
    kept = input if count == input.shape[-1] else F.narrow(input, -1, 0, count)
    vectors = F.add(F.tril(kept, -1), ones)
    turned = _adjoint(vectors)
    factors = F.unsqueeze(tau, -1)
    inner = F.mul(F.triu(F.matmul(turned, vectors), 1), factors)
    scaled = F.mul(turned, factors)
    return vectors, F.linalg_solve_triangular(inner, scaled, upper=True, unitriangular=True)


def linalg_householder_product(input: Tensor, tau: Tensor) -> Any:
    """Return the first columns of the product of Householder reflections."""
    rows, columns = check_reflections(input, tau, input.dtype, tau.dtype)
    ones = ones_on_diagonal(input, rows, columns)
    if not tau.shape[-1] or not math.prod(input.shape):
        # Sums of nothing are 0, of the shape of the batch, and differentiable as the rest is.
        nothing = F.sum(F.narrow(input, -1, 0, 0), [-1], True)
        return F.add(F.add(ones, nothing), F.sum(tau))
    vectors, turned = _reflections(input, tau)
    kept = turned if rows == columns else F.narrow(turned, -1, 0, columns)
    return _by_columns(F.sub(ones, F.matmul(vectors, kept)))


orgqr = F.linalg_householder_product


def ormqr(
    self: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False
) -> Any:
    """Return the product of the orthonormal matrix of Householder reflections, or its conjugate
    transpose, and a matrix, from the left or from the right.
    """
    check_ormqr(self, input2, input3, self.dtype, input2.dtype, input3.dtype, left)
    if not math.prod(input3.shape) or not input2.shape[-1]:
        return F.clone(input3)
    first, second = _reflections(self, input2)
    if transpose:
        first, second = _adjoint(second), _adjoint(first)
    if left:
        return _by_columns(F.sub(input3, F.matmul(first, F.matmul(second, input3))))
    return _by_columns(F.sub(input3, F.matmul(F.matmul(input3, first), second)))


def _warn_of_old(name: str, instead: str, translation: str) -> None:
    """Issue the warning of a deprecated function, once per process."""
    warn_user_once(f"dovetail.{name} is deprecated in favor of dovetail.{instead}. {translation}")
