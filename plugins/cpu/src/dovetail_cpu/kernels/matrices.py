"""Matrices and batches of them: the number of threads of the BLAS is set once for a batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import numpy as np

from dovetail_aten.families import Factorizations, Matrices

from ..parallel.blas_threads import scipy_in_calling_thread

_array, _new = numpy.asarray, numpy.array


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
