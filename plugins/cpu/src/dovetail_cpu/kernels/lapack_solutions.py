"""Solutions by factors, and products of reflections, by the functions of LAPACK and BLAS that there
are for them: elsewhere they are composites of products and triangular systems.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy
import numpy as np

from dovetail_aten.families import (
    check_lu_solve,
    check_old_system,
    check_ormqr,
    check_pivots,
    check_reflections,
    check_square,
    failure,
    refuse_dtypes,
)
from dovetail_aten.kernel_support import operator

from ..functions.products import matmul
from .matrices import FastMatrices, are_rows, exchanged_rows

_BLOCK: Final = 64
"""Columns that LAPACK takes together, if there is room for them."""
_TABLE: Final = 65 * 64
"""Numbers that it needs for their triangular factor."""


class LapackSolutions(FastMatrices):
    """Solutions by Cholesky and LU factors, and products of Householder reflections."""

    def _of_batch(self, batch: Sequence[int], x: np.ndarray, ahead: int) -> Any:
        """Return matrices, or rows for them, with the dimensions of a batch in front."""
        if x.shape[:ahead] == batch:
            return x
        return self.capabilities.expand(x, (*batch, *x.shape[ahead:]))

    def _solved(
        self,
        solve: Callable[..., Sequence[object]],
        batch: tuple[int, ...],
        right: np.ndarray,
        *others: tuple[Any, int],
    ) -> Any:
        """Return the solutions of systems with the sides `right`.

        The others are given with the number of dimensions that are theirs beside the batch.
        """
        if not right.size or not math.prod(batch):
            return numpy.zeros((*batch, *right.shape[-2:]), right.dtype)
        given = [self._of_batch(batch, each, each.ndim - own) for each, own in others]
        sides = self._of_batch(batch, right, right.ndim - 2)
        return self._one_by_one(solve, batch, sides, *given)[0]

    @operator("linalg_lu_solve")
    def lu_solve(
        self,
        lu: np.ndarray,
        pivots: np.ndarray,
        b: np.ndarray,
        *,
        left: bool = True,
        adjoint: bool = False,
    ) -> Any:
        """Return the solutions of ``A X = B`` for the matrices whose LU factors are given."""
        own = self._dtype(lu)
        batch = check_lu_solve(lu, pivots, b, own, self._dtype(pivots), self._dtype(b), left)
        refuse_dtypes("lu_cpu", own)
        rows = lu.shape[-1]
        check_pivots(pivots.shape, rows, are_rows(pivots, rows))
        trsm = self._blas("trsm", "linalg_lu_solve", lu)
        # The conjugate transpose turns the factors around, and so does a matrix on the right.
        turned = 2 if adjoint else 0
        first = left is not adjoint
        side = int(not left)

        def solve(sides: np.ndarray, factors: np.ndarray, exchanged: np.ndarray) -> tuple[Any]:
            order = exchanged_rows(exchanged.tolist(), rows)
            if first:
                sides = sides.take(order, 0) if left else sides.take(order, 1)
            lower = {"side": side, "lower": 1, "diag": 1, "trans_a": turned}
            upper = {"side": side, "lower": 0, "diag": 0, "trans_a": turned}
            made = trsm(1, factors, sides, **(lower if first else upper))
            made = trsm(1, factors, made, **(upper if first else lower), overwrite_b=1)
            if first:
                return (made,)
            back = numpy.empty_like(made)
            if left:
                back[order] = made
            else:
                back[:, order] = made
            return (back,)

        return self._solved(solve, batch, b, (lu, 2), (pivots, 1))

    @operator("cholesky_solve")
    def cholesky_solve(self, b: np.ndarray, factor: np.ndarray, upper: bool = False) -> Any:
        """Return the solutions of ``A X = B`` for the matrices whose Cholesky factors are given."""
        own = self._dtype(b)
        batch = check_old_system("cholesky_solve", factor.shape, b.shape, self._dtype(factor), own)
        refuse_dtypes("cholesky_solve_cpu", own)
        potrs = self._lapack("potrs", "cholesky_solve", b)
        return self._solved(lambda sides, one: potrs(one, sides, not upper), batch, b, (factor, 2))

    @operator("cholesky_inverse")
    def cholesky_inverse(self, factor: np.ndarray, upper: bool = False) -> Any:
        """Return the inverses of the matrices whose Cholesky factors are given."""
        check_square("cholesky_inverse", factor.shape)
        refuse_dtypes("cholesky_inverse_out_cpu", self._dtype(factor))
        if not factor.size:
            return factor.copy()
        trtri = self._lapack("trtri", "cholesky_inverse", factor)
        batch = factor.shape[:-2]
        made, info = self._one_by_one(lambda one: trtri(one, not upper), batch, factor)
        infos = info.reshape(-1).tolist()
        if any(infos):
            raise failure("cholesky_inverse", "inv", infos, batch)
        # Not LAPACK's potri, which takes the diagonal of a complex factor for real.
        made = self._triangle(made, upper)
        turned = self._adjoint(made)
        product: Any = matmul(made, turned) if upper else matmul(turned, made)
        return product

    @operator("linalg_householder_product")
    def householder_product(self, x: np.ndarray, tau: np.ndarray) -> Any:
        """Return the first columns of the product of Householder reflections."""
        _, columns = check_reflections(x, tau, self._dtype(x), self._dtype(tau))
        batch = x.shape[:-2]
        if not tau.shape[-1] or not x.size:
            made = numpy.zeros(x.shape, x.dtype)
            made[..., :columns, :] = self._eye(columns, columns, x.dtype)
            return made
        is_complex = x.dtype in self.precision.complex
        orgqr = self._lapack("ungqr" if is_complex else "orgqr", "linalg_householder_product", x)
        room = columns if columns <= _BLOCK // 2 else columns * _BLOCK

        def product(one: object, factors: np.ndarray) -> tuple[Any]:
            return (orgqr(one, factors, lwork=room)[0],)

        return self._one_by_one(product, batch, x, tau)[0]

    @operator("ormqr")
    def ormqr(
        self,
        x: np.ndarray,
        tau: np.ndarray,
        other: np.ndarray,
        left: bool = True,
        transpose: bool = False,
    ) -> Any:
        """Return the product of the orthonormal matrix of Householder reflections, or its conjugate
        transpose, and a matrix, from the left or from the right.
        """
        own = self._dtype(x)
        check_ormqr(x, tau, other, own, self._dtype(tau), self._dtype(other), left)
        count = tau.shape[-1]
        if not other.size or not count:
            return other.copy()
        is_complex = x.dtype in self.precision.complex
        ormqr = self._lapack("unmqr" if is_complex else "ormqr", "ormqr", x)
        side = "L" if left else "R"
        trans = ("C" if is_complex else "T") if transpose else "N"
        room = other.shape[-1 if left else -2]
        room = room if count <= _BLOCK // 2 else room * _BLOCK + _TABLE

        def product(one: object, factors: np.ndarray, given: object) -> tuple[Any]:
            return (ormqr(side, trans, one, factors, given, room)[0],)

        return self._one_by_one(product, x.shape[:-2], x[..., :count], tau, other)[0]
