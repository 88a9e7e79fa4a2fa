"""Running results by the methods of ufuncs, distinct integers by counting.

What is in single precision is accumulated in double, as PyTorch does: each step would lose a
rounding otherwise, and what overflows on the way would not come back.
"""

from __future__ import annotations

from typing import Any

import numpy
import numpy as np

from dovetail_aten.families import Distinct, RunningExtrema, Scans, Selection
from dovetail_aten.kernel_support import Function, Running

from ..functions.packed_order import PackedOrder

_COUNTED = 1 << 16
"""Elements from which, and different integers up to which, counting pays."""
_WIDE = {
    numpy.dtype(numpy.float32): numpy.dtype(numpy.float64),
    numpy.dtype(numpy.complex64): numpy.dtype(numpy.complex128),
}


class FastScans(Scans):
    """Cumulative sums and products, in double precision of what is in single."""

    def _scanned(
        self, name: str, scan: Function, x: np.ndarray, dim: int, dtype: np.dtype | None
    ) -> Any:
        """Return the scan along `dim`."""
        if dtype is not None and dtype in _WIDE:
            x, dtype = self.precision.converted(x, dtype), None
        own = x.dtype
        if dtype is not None or own not in _WIDE:
            return Scans._scanned(self, name, scan, x, dim, dtype)
        return Scans._scanned(self, name, scan, x.astype(_WIDE[own]), dim, None).astype(own)


class FastRunning(Running):
    """Running results by the methods of ufuncs; what combines complex numbers is none."""

    def _running(self, combine: Any, x: Any, axis: int) -> Any:
        """Return the running results, by one pass over the elements."""
        if isinstance(combine, numpy.ufunc):
            return combine.accumulate(x, axis)
        return Running._running(self, combine, x, axis)


class FastRunningExtrema(RunningExtrema, FastRunning):
    """The greatest and least elements so far."""

    def logcumsumexp(self, x: np.ndarray, dim: int) -> Any:
        """Return the logarithm of the sum of exponentials along `dim` up to each element."""
        own = x.dtype
        wide = _WIDE.get(own)
        if wide is None:
            return RunningExtrema.logcumsumexp(self, x, dim)
        return RunningExtrema.logcumsumexp(self, x.astype(wide), dim).astype(own)


class FastSelection(PackedOrder, Selection, FastRunning):
    """Elements selected by rank or frequency."""


def _counted(x: np.ndarray) -> tuple[Any, Any] | None:
    """Return the distinct integers in order, and how often each occurs; None if they are so far
    apart that counting all between them does not pay.
    """
    least = x.min()
    span = int(x.max()) - int(least)
    if span >= min(x.size, _COUNTED):
        return None
    is_long = x.dtype.itemsize == numpy.dtype(numpy.int64).itemsize
    # Differences of long integers cannot overflow here, those of short ones could.
    away = x - least if is_long else x.astype(numpy.int64) - int(least)
    counts = numpy.bincount(away.reshape(-1).astype(numpy.int64, copy=False))
    places = numpy.flatnonzero(counts)
    found = places.astype(x.dtype) + least if is_long else (places + int(least)).astype(x.dtype)
    return found, counts[places]


class FastDistinct(PackedOrder, Distinct):
    """Distinct elements; of integers alone by counting or sorting them."""

    def unique(
        self,
        x: np.ndarray,
        sorted: bool = True,
        return_inverse: bool = False,
        return_counts: bool = False,
    ) -> tuple[Any, Any, Any]:
        """Return the distinct elements in order, where each is among them, and how often each
        occurs.
        """
        if return_inverse or x.dtype.kind not in "bui":
            return Distinct.unique(self, x, sorted, return_inverse, return_counts)
        if x.size >= _COUNTED and (made := _counted(x)) is not None:
            found, counts = made
            return found, self._empty_places(), counts if return_counts else self._empty_places()
        rows = numpy.sort(x, None)
        starts = self._starts(rows)
        counts = self._empty_places()
        if return_counts and rows.size:
            counts = numpy.diff(numpy.flatnonzero(starts), append=rows.size)
        return rows[starts], self._empty_places(), counts
