"""Running results by the methods of ufuncs, or line after line; sums of long rows by matrix
products.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy

from dovetail_aten.array_kernels import wrap_dim
from dovetail_aten.array_kernels.distinct import Distinct
from dovetail_aten.array_kernels.running import Running
from dovetail_aten.array_kernels.running_extrema import RunningExtrema
from dovetail_aten.array_kernels.scans import Scans
from dovetail_aten.array_kernels.selection import Selection

from .packed_order import PackedOrder

_BLAS = frozenset(map(numpy.dtype, (numpy.float32, numpy.float64)))
_MANY = 1 << 14
"""Elements from which a product with ones pays."""
_STEP = 16
"""Length of the pieces that a cumulative sum is made of."""
_COUNTED = 1 << 16
"""Elements from which, and different integers up to which, counting pays."""
_LINE = 256
"""Length from which a pass of its own pays for a line of memory."""
_TRIANGLES = {each: numpy.tri(_STEP, dtype=each).T.copy() for each in _BLAS}
_added: Any = numpy.add.accumulate
_multiplied: Any = numpy.multiply.accumulate


def _down_lines(combine: Any, x: Any, axis: int) -> Any | None:
    """Return running results over long lines of memory, one line after the other; None where they
    are short.
    """
    inner = prod(x.shape[axis + 1 :])
    if inner < _LINE or not x.flags.c_contiguous:
        return None
    lines = x.reshape(-1, x.shape[axis], inner)
    made = numpy.empty(lines.shape, x.dtype)
    for line, result in zip(lines, made, strict=True):
        result[:1] = line[:1]
        for place in range(1, len(line)):
            combine(result[place - 1], line[place], out=result[place])
    return made.reshape(x.shape)


def _by_triangles(x: Any) -> Any:
    """Return the running sums of the rows of a C-contiguous array, in steps by products with a
    triangle of ones, and what came before each step.
    """
    length = x.shape[-1]
    whole = length - length % _STEP
    rows = x.reshape(-1, length)
    made = numpy.empty(rows.shape, x.dtype)
    steps = numpy.matmul(rows[:, :whole].reshape(-1, _STEP), _TRIANGLES[x.dtype])
    steps = steps.reshape(len(rows), whole // _STEP, _STEP)
    before = _added(steps[:, :-1, -1], 1)
    numpy.add(steps[:, 1:], before[:, :, None], out=steps[:, 1:])
    if whole == length:
        return steps.reshape(x.shape)
    made[:, :whole] = steps.reshape(len(rows), whole)
    made[:, whole:] = rows[:, whole:]
    made[:, whole] += made[:, whole - 1]
    _added(made[:, whole:], 1, None, made[:, whole:])
    return made.reshape(x.shape)


class FastScans(Scans):
    """Cumulative sums and products."""

    def cumprod(self, x: Any, dim: int, *, dtype: Any = None) -> Any:
        """Return the cumulative products."""
        ndim, own = x.ndim, x.dtype
        if dtype is not None or own in self.precision.halves or not ndim:
            return Scans.cumprod(self, x, dim, dtype=dtype)
        axis = wrap_dim(dim, ndim)
        if x.size >= _MANY and own in _BLAS:
            made = _down_lines(numpy.multiply, x, axis)
            if made is not None:
                return made
        result = _multiplied(x, axis, self.precision.accumulators.get(own))
        return result if ndim == 1 else self.capabilities.contiguous(result)

    def cumsum(self, x: Any, dim: int, *, dtype: Any = None) -> Any:
        """Return the cumulative sums."""
        ndim, own = x.ndim, x.dtype
        axis = wrap_dim(dim, ndim)
        if dtype is not None or own in self.precision.halves or not ndim:
            return Scans.cumsum(self, x, dim, dtype=dtype)
        if x.size >= _MANY and own in _BLAS:
            made = _down_lines(numpy.add, x, axis)
            if made is not None:
                return made
            if axis == ndim - 1 and x.shape[-1] >= 2 * _STEP and x.flags.c_contiguous:
                made = _by_triangles(x)
                # Zeros of the triangle make NaN of infinities, also before them.
                if numpy.isfinite(made[..., -1]).all():
                    return made
        result = _added(x, axis, self.precision.accumulators.get(own))
        return result if ndim == 1 else self.capabilities.contiguous(result)


class FastRunning(Running):
    """Running results by the methods of ufuncs; what combines complex numbers is none."""

    def _running(self, combine: Any, x: Any, axis: int) -> Any:
        """Return the running results, by one pass over the elements."""
        if isinstance(combine, numpy.ufunc):
            return combine.accumulate(x, axis)
        return Running._running(self, combine, x, axis)


class FastRunningExtrema(RunningExtrema, FastRunning):
    """The greatest and least elements so far."""


class FastSelection(PackedOrder, Selection, FastRunning):
    """Elements selected by rank or frequency."""


def _counted(x: Any) -> tuple[Any, Any] | None:
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
        x: Any,
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
