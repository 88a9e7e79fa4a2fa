"""Small matrices, and batches of them: what only their sizes decide is kept, and the number of
threads of the BLAS is set once for a batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy
import numpy as np

from dovetail_aten.families import Factorizations, Matrices, check_pivots

from ..parallel.blas_threads import scipy_in_calling_thread

_array, _new = numpy.asarray, numpy.array
_FEW: Final = 1 << 10
"""Elements of a matrix up to which what its sizes decide is kept."""
_FEW_PIVOTS: Final = 1 << 8
"""Pivots up to which Python exchanges the rows."""


class FastMatrices(Matrices):
    """A family of operators of matrices and batches of matrices."""

    def _found(
        self, finder: str, name: str, operator: str, arrays: Sequence[Any]
    ) -> Callable[..., Any]:
        # Itself, not what computes in one thread: `_one_by_one` sees to that, once for a batch.
        function = Matrices._found(self, finder, name, operator, arrays)
        return getattr(function, "__wrapped__", function)

    def _one_by_one(
        self, function: Callable[..., Sequence[object]], batch: Sequence[int], *operands: Any
    ) -> list[Any]:
        ahead = len(batch)
        if not ahead:
            with scipy_in_calling_thread(*operands):
                return [_array(result) for result in function(*operands)]
        rows = operands
        if ahead > 1:
            count = math.prod(batch)
            rows = tuple([x.reshape(count, *x.shape[ahead:]) for x in operands])
        with scipy_in_calling_thread(*[each[0] for each in rows]):
            found = [function(*each) for each in zip(*rows, strict=True)]
        stacked = [_new(each) for each in zip(*found, strict=True)]
        if ahead == 1:
            return stacked
        return [each.reshape(*batch, *each.shape[1:]) for each in stacked]

    def _triangle(self, x: np.ndarray, upper: bool, offset: int = 0) -> Any:
        rows, columns = x.shape[-2:]
        kept = self._in_triangle(rows, columns, upper, offset)
        return numpy.where(kept, x, self.numbers.like(x, 0))

    def _in_triangle(self, rows: int, columns: int, upper: bool, offset: int = 0) -> Any:
        """Return which elements of a matrix belong to a triangle."""
        find = _kept_triangle if rows * columns <= _FEW else _kept_triangle.__wrapped__
        return find(rows, columns, upper, offset)


@lru_cache(64)
def _kept_eye(rows: int, columns: int, dtype: np.dtype) -> Any:
    """Return ones on the diagonal of a matrix of zeros."""
    return numpy.eye(rows, columns, dtype=dtype)


@lru_cache(64)
def _kept_triangle(rows: int, columns: int, upper: bool, offset: int) -> Any:
    distance = numpy.arange(columns) - numpy.arange(rows)[:, None]
    return distance >= offset if upper else distance <= offset


def are_rows(pivots: np.ndarray, rows: int) -> bool:
    """Return whether all pivots are rows, counted from 1."""
    # Read as unsigned, 0 and what is less are beyond the last row too.
    return not pivots.size or bool((pivots - 1).view(numpy.uint32).max() < rows)


def exchanged_rows(pivots: Sequence[int], rows: int) -> list[int]:
    """Return which row stands in place of each after the exchanges of a factorization."""
    order = list(range(rows))
    for place, other in enumerate(pivots):
        order[place], order[other - 1] = order[other - 1], order[place]
    return order


class FastFactorizations(FastMatrices, Factorizations):
    """Cholesky, LU, LDL and QR factorizations."""

    def _unit_triangle(self, x: np.ndarray) -> Any:
        rows, columns = x.shape[-2:]
        below = self._in_triangle(rows, columns, False, -1)
        find = _kept_eye if rows * columns <= _FEW else _kept_eye.__wrapped__
        return numpy.where(below, x, find(rows, columns, x.dtype))

    def _check_pivots(self, pivots: np.ndarray, rows: int, least: int) -> None:
        check_pivots(pivots.shape, least, are_rows(pivots, rows))

    def _order_of_rows(self, pivots: np.ndarray, rows: int) -> Any:
        if not 0 < pivots.size <= _FEW_PIVOTS:
            return Factorizations._order_of_rows(self, pivots, rows)
        exchanges = pivots.reshape(-1, pivots.shape[-1]).tolist()
        orders = [exchanged_rows(each, rows) for each in exchanges]
        return numpy.array(orders, numpy.int64).reshape(*pivots.shape[:-1], rows)
