"""Solutions of large systems of linear equations by LAPACK's factors and BLAS's triangular solver,
which takes a third of the time of LAPACK's own. As by NumPy, those of float32 are computed in
float64.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Final

import numpy
import numpy as np

from dovetail_aten.families import LinearSystems, check_cross
from dovetail_aten.kernel_support import broadcast_shapes, wrap_dim
from dovetail_kernel.fork_locks import outside_forks

from ..parallel.blas_threads import scipy_in_calling_thread
from .matrices import FastMatrices

_SINGLE, _DOUBLE = numpy.dtype(numpy.float32), numpy.dtype(numpy.float64)
_MANY: Final = 128
"""Equations and right sides from which the copies pay."""
_MATRIX: Final = 2
_FEW: Final = 1 << 11
"""Elements of vectors up to which they are taken by places."""
_NEXT, _LAST = numpy.array([1, 2, 0]), numpy.array([2, 0, 1])


@cache
def _functions_of_scipy() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return what factorizes a matrix, and what solves by a triangle."""
    factor = import_module("scipy.linalg.lapack").dgetrf
    return outside_forks(factor), outside_forks(import_module("scipy.linalg.blas").dtrsm)


def _solve(matrix: np.ndarray, sides: np.ndarray) -> Any | None:
    """Return the solutions of ``matrix @ X = sides``; None where the matrix is singular.

    A matrix in C order is its transpose in Fortran order, which is LAPACK's, so that nothing is
    turned: of ``matrix.T = P L U`` follows ``X.T P L U = sides.T``.
    """
    factor, solve = _functions_of_scipy()
    dtype, shares = matrix.dtype, matrix.dtype == _DOUBLE
    with scipy_in_calling_thread(matrix, sides):
        factors, pivots, info = factor(matrix.T.astype(_DOUBLE, copy=False), overwrite_a=not shares)
        if info:
            return None
        made = sides.T.astype(_DOUBLE, copy=False)
        made = solve(1, factors, made, side=1, overwrite_b=not shares)
        made = solve(1, factors, made, side=1, lower=1, diag=1, overwrite_b=1)
    order = list(range(len(pivots)))
    for place in range(len(order) - 1, -1, -1):
        other = pivots[place]
        order[place], order[other] = order[other], order[place]
    return made.T.take(order, 0).astype(dtype, copy=False)


class FastLinearSystems(FastMatrices, LinearSystems):
    """Small systems, and large ones with many right sides."""

    def cross(self, x: np.ndarray, other: np.ndarray, *, dim: int = -1) -> Any:
        """Return the cross products of vectors of three elements along `dim`."""
        if x.size > _FEW or other.size > _FEW:
            return LinearSystems.cross(self, x, other, dim=dim)
        check_cross(x, other, dim, self._dtype(x), self._dtype(other))
        shape = x.shape
        if shape != other.shape:
            shape = broadcast_shapes([shape, other.shape])
        axis = wrap_dim(dim, len(shape)) - len(shape)
        made: Any = numpy.multiply(x.take(_NEXT, axis), other.take(_LAST, axis))
        made -= numpy.multiply(x.take(_LAST, axis), other.take(_NEXT, axis))
        return made

    def _linalg(self, name: str) -> Callable[..., Any]:
        """Return a function of NumPy's `linalg`, which raises for matrices that fail."""
        function = LinearSystems._linalg(self, name)
        if name != "solve":
            return function

        def solve(matrix: np.ndarray, sides: np.ndarray) -> Any:
            is_large = (
                matrix.ndim == sides.ndim == _MATRIX
                and min(sides.shape) >= _MANY
                and matrix.dtype in (_SINGLE, _DOUBLE)
                and matrix.dtype == sides.dtype
            )
            made = _solve(matrix, sides) if is_large else None
            # NumPy says what is wrong with a singular matrix.
            return function(matrix, sides) if made is None else made

        return solve
