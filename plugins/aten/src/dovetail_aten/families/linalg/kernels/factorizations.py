"""Factorizations of matrices: Cholesky, LU, LDL and QR."""

from __future__ import annotations

import math
from typing import Any

from dovetail_kernel import dtype as DType
from dovetail_kernel import int32

from ....kernel_support.family import fitted, operator
from ....kernel_support.geometry.broadcasting import broadcast_shapes
from ....typing import Array
from .factor_checks import check_ldl_pivots, check_pivots
from .matrices import Matrices
from .matrix_checks import (
    check_factored,
    check_inexact,
    check_matrix,
    check_old_system,
    check_square,
    refuse_dtypes,
)

QR_MODES = ("reduced", "complete", "r")


class Factorizations(Matrices):
    """Cholesky, LU, LDL and QR factorizations."""

    @operator("linalg_cholesky_ex")
    def cholesky_ex(self, x: Array, *, upper: bool = False, check_errors: bool = False) -> Any:
        """Return the triangular factor of positive-definite matrices, and the position of the
        failure in other matrices.
        """
        check_square("linalg.cholesky", x.shape)
        check_inexact("linalg.cholesky", self._dtype(x))
        refuse_dtypes("cholesky_cpu", self._dtype(x))
        lower = self._adjoint(x) if upper else x
        try:
            factor, info = self._linalg("cholesky")(lower), self._zeros(x.shape[:-2])
        except Exception as error:
            if not self._is_failure(error):
                raise
            factor, info = self._cholesky_one_by_one(lower)
        info = self._with_first_nan(factor, info)
        if check_errors:
            self._check_infos("linalg.cholesky_ex", "cholesky", info)
        return self._adjoint(factor) if upper else factor, info

    def _with_first_nan(self, factor: Array, info: Array) -> Any:
        """Return `info` with the step of the first NaN on the diagonal of a factor, which LAPACK of
        some libraries takes for positive.
        """
        xp = self.xp
        if not factor.size:
            return info
        diagonal = self.capabilities.diagonal(factor, 0, factor.ndim - 2, factor.ndim - 1)
        wrong = xp.isnan(diagonal)
        if not self.lazy and not bool(xp.any(wrong)):
            return info
        first = xp.argmax(wrong, axis=-1) + 1
        fails = xp.logical_and(xp.any(wrong, axis=-1), xp.equal(info, 0))
        return xp.where(fails, first.astype(info.dtype), info)

    def _cholesky_one_by_one(self, x: Array) -> tuple[Any, Any]:
        """Return the factors of matrices of which some are not positive-definite."""
        potrf = self._lapack("potrf", "linalg_cholesky_ex", x)
        factor, info = self._one_by_one(lambda each: potrf(each, lower=1), x.shape[:-2], x)
        return factor, info.astype(self.native_dtypes[int32], copy=False)

    @operator("linalg_lu_factor_ex")
    def lu_factor_ex(
        self, x: Array, *, pivot: bool = True, check_errors: bool = False
    ) -> tuple[Any, Any, Any]:
        """Return both triangular factors in one matrix, the exchanged rows, and the position of a
        zero on the diagonal of the second factor.
        """
        check_factored(x.shape)
        refuse_dtypes("lu_cpu", self._dtype(x))
        if not pivot:
            raise RuntimeError(
                "linalg.lu_factor: LU without pivoting is not implemented on the CPU. Leave out "
                "pivot=False."
            )
        batch, least = x.shape[:-2], min(x.shape[-2:])
        if not x.size:
            return x.copy(), self._zeros((*batch, least)), self._zeros(batch)
        getrf = self._lapack("getrf", "linalg_lu_factor_ex", x)
        factor, pivots, info = self._one_by_one(getrf, batch, x)
        single = self.native_dtypes[int32]
        pivots = (pivots + 1).astype(single, copy=False)
        info = info.astype(single, copy=False)
        if check_errors:
            self._check_infos("torch.linalg.lu_factor_ex", "lu", info)
        return factor, pivots, info

    @operator("lu_unpack")
    @fitted
    def lu_unpack(
        self, lu: Array, pivots: Array, unpack_data: bool = True, unpack_pivots: bool = True
    ) -> tuple[Any, Any, Any]:
        """Return the permutation and both triangular factors of an LU factorization."""
        check_matrix("torch.lu_unpack", lu.shape, "LU_data")
        if unpack_pivots and self._dtype(pivots) is not int32:
            raise RuntimeError(
                "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 "
                "dtype. Note: this function is intended to be used with the output produced by "
                "torch.linalg.lu_factor"
            )
        rows, columns = lu.shape[-2:]
        least, own = min(rows, columns), lu.dtype
        lower, upper, permutation = (self.xp.zeros((0,), dtype=own) for _ in range(3))
        if unpack_data:
            left = lu[..., :, :least]
            lower = self._unit_triangle(left)
            upper = self._triangle(lu[..., :least, :], True)
        if unpack_pivots:
            self._check_pivots(pivots, rows, least)
            own_pivots = self.capabilities.expand(pivots, (*lu.shape[:-2], pivots.shape[-1]))
            order = self._order_of_rows(own_pivots, rows)
            places = self.xp.arange(rows)
            permutation = (places[:, None] == order[..., None, :]).astype(own)
        return permutation, lower, upper

    def _unit_triangle(self, x: Any) -> Any:
        """Return matrices with ones on the diagonal and zeros above it."""
        rows, columns = x.shape[-2:]
        return self._triangle(x, False, -1) + self._eye(rows, columns, x.dtype)

    def _check_pivots(self, pivots: Any, rows: int, least: int) -> None:
        """Raise an error for pivots without one row per step of the factorization."""
        outside = not self.lazy and bool(self.xp.any((pivots < 1) | (pivots > rows)))
        check_pivots(tuple(pivots.shape), least, not outside)

    def _order_of_rows(self, pivots: Any, rows: int) -> Any:
        """Return, of every row of the factors, which row of the matrix it is."""
        xp = self.xp
        places = xp.arange(rows)
        order = xp.zeros((*pivots.shape[:-1], rows), dtype=places.dtype) + places
        for at in range(pivots.shape[-1]):
            other = pivots[..., at : at + 1].astype(places.dtype) - 1
            here, there = order[..., at : at + 1], xp.take_along_axis(order, other, axis=-1)
            order = xp.where(places == other, here, order)
            order = xp.where(places == at, there, order)
        return order

    @operator("linalg_ldl_factor_ex")
    def ldl_factor_ex(
        self, x: Array, *, hermitian: bool = False, check_errors: bool = False
    ) -> tuple[Any, Any, Any]:
        """Return the factors L and D of symmetric or Hermitian matrices in one matrix, the pivots
        as in LAPACK, and the position of a zero in D.
        """
        check_square("torch.linalg.ldl_factor_ex", x.shape)
        check_inexact("torch.linalg.ldl_factor_ex", self._dtype(x))
        refuse_dtypes("ldl_factor_kernel_cpu", self._dtype(x))
        batch = x.shape[:-2]
        if not x.size:
            return x.copy(), self._zeros(x.shape[:-1]), self._zeros(batch)
        is_hermitian = hermitian and x.dtype in self.precision.complex
        name = "hetrf" if is_hermitian else "sytrf"
        factor = self._lapack(name, "linalg_ldl_factor_ex", x)
        made, pivots, info = self._one_by_one(lambda each: factor(each, lower=1), batch, x)
        single = self.native_dtypes[int32]
        pivots, info = pivots.astype(single, copy=False), info.astype(single, copy=False)
        if check_errors:
            self._check_infos("torch.linalg.ldl_factor_ex", "ldl", info)
        return self._triangle(made, False), pivots, info

    @operator("linalg_ldl_solve")
    def ldl_solve(self, ld: Array, pivots: Array, b: Array, *, hermitian: bool = False) -> Any:
        """Return the solutions of ``A X = B`` for matrices with the passed LDL factors."""
        check_ldl_solve(ld, pivots, b, self._dtype(ld), self._dtype(pivots), self._dtype(b))
        batch = broadcast_shapes([ld.shape[:-2], b.shape[:-2]])
        expand = self.capabilities.expand
        if not math.prod(batch) or 0 in b.shape[-2:]:
            return self._zeros((*batch, *b.shape[-2:]), self._dtype(b))
        operands = (
            expand(ld, (*batch, *ld.shape[-2:])),
            expand(pivots, (*batch, pivots.shape[-1])),
            expand(b, (*batch, *b.shape[-2:])),
        )
        is_hermitian = hermitian and ld.dtype in self.precision.complex
        solve = self._lapack("hetrs" if is_hermitian else "sytrs", "linalg_ldl_solve", ld)

        def solution(factors: Array, steps: Any, right: Array) -> tuple[Any]:
            # Host memory, as SciPy takes them.
            check_ldl_pivots(steps.__array__().tolist())
            return (solve(factors, steps, right, lower=1)[0],)

        return self._one_by_one(solution, batch, *operands)[0]

    @operator("linalg_qr")
    def qr(self, x: Array, mode: str = "reduced") -> tuple[Any, Any]:
        """Return an orthonormal and an upper triangular factor."""
        check_matrix("linalg.qr", x.shape)
        check_inexact("linalg.qr", self._dtype(x))
        check_qr_mode(mode)
        refuse_dtypes("geqrf_cpu", self._dtype(x))
        if mode == "r":
            return self.xp.zeros((0,), dtype=x.dtype), self.xp.linalg.qr(x, mode="r")
        q, r = self.xp.linalg.qr(x, mode=mode)
        return q, r

    @operator("geqrf")
    def geqrf(self, x: Array) -> tuple[Any, Any]:
        """Return LAPACK's form of a QR factorization: the triangular factor above the vectors of
        Householder reflections, and the factors of the reflections.
        """
        if x.ndim < 2:
            raise RuntimeError(
                "torch.geqrf: input must have at least 2 dimensions. Use unsqueeze for a vector."
            )
        refuse_dtypes("geqrf_cpu", self._dtype(x))
        reflections, factors = self.xp.linalg.qr(x, mode="raw")
        return reflections.swapaxes(-2, -1), factors


def check_qr_mode(mode: str) -> None:
    """Raise an error for a mode that qr does not have."""
    if mode not in QR_MODES:
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', "
            "or 'complete'."
        )


def check_ldl_solve(ld: Any, pivots: Any, b: Any, own: Any, places: DType, right: DType) -> None:
    """Raise an error for factors, pivots and a right-hand side that are incompatible."""
    name = "torch.linalg.ldl_solve"
    check_square(name, ld.shape)
    check_inexact(name, own)
    refuse_dtypes("ldl_solve_kernel_cpu", own)
    expected = tuple(ld.shape[:-1])
    if tuple(pivots.shape) != expected:
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with "
            f"shape {list(pivots.shape)} instead. Give what linalg.ldl_factor returned."
        )
    if places is not int32:
        raise RuntimeError(
            f"{name}: Expected pivots to be integers. Got {places.scalar_name}. Give what "
            "linalg.ldl_factor returned."
        )
    check_old_system(name, ld.shape, b.shape, own, right)
