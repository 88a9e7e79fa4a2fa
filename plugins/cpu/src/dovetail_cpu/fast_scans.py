"""Running results by the methods of ufuncs, or line after line; sums of long rows by matrix
products.

What is in single precision is accumulated in double, as PyTorch does: each step would lose a
rounding otherwise, and what overflows on the way would not come back.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy

from dovetail_aten.families.reductions.kernels.running_extrema import RunningExtrema
from dovetail_aten.families.reductions.kernels.scans import Scans
from dovetail_aten.families.searching.kernels.unique import Distinct
from dovetail_aten.families.statistics.kernels.selection import Selection
from dovetail_aten.kernel_support import Function, wrap_dim
from dovetail_aten.kernel_support.cumulative import Running

from .packed_order import PackedOrder

_BLAS = frozenset(map(numpy.dtype, (numpy.float32, numpy.float64)))
_MANY = 1 << 14
"""Elements from which a product with ones pays."""
_STEP = 16
"""Length of the pieces that a cumulative sum is made of."""
_AT_ONCE = 1 << 15
"""Elements of single precision that are in double at a time."""
_COUNTED = 1 << 16
"""Elements from which, and different integers up to which, counting pays."""
_LINE = 256
"""Length from which a pass of its own pays for a line of memory."""
_WIDE = {
    numpy.dtype(numpy.float32): numpy.dtype(numpy.float64),
    numpy.dtype(numpy.complex64): numpy.dtype(numpy.complex128),
}
_TRIANGLE = numpy.tri(_STEP).T.copy()


def _down_lines(combine: Any, x: Any, axis: int) -> Any | None:
    """Return running results over long lines of memory, one line after the other; None where they
    are short.
    """
    inner = prod(x.shape[axis + 1 :])
    if inner < _LINE or not x.flags.c_contiguous:
        return None
    lines = x.reshape(-1, x.shape[axis], inner)
    made = numpy.empty(lines.shape, x.dtype)
    wide = _WIDE.get(x.dtype)
    for line, result in zip(lines, made, strict=True):
        result[:1] = line[:1]
        if wide is None:
            for place in range(1, len(line)):
                combine(result[place - 1], line[place], out=result[place])
        elif len(line):
            total = line[0].astype(wide)
            for place in range(1, len(line)):
                combine(total, line[place], out=total)
                result[place] = total
    return made.reshape(x.shape)


def _in_blocks(combine: Any, x: Any, axis: int, wide: Any) -> Any:
    """Return running results of a large array, held in the dtype `wide` for a block at a time."""
    length, inner = x.shape[axis], prod(x.shape[axis + 1 :])
    made = numpy.empty(x.shape, x.dtype)
    rows, results = [each.reshape(-1, length, inner).transpose(0, 2, 1) for each in (x, made)]
    down, across = max(1, _AT_ONCE // (length * inner)), max(1, _AT_ONCE // inner)
    for first in range(0, len(rows), down):
        before = None
        for start in range(0, length, across):
            part = slice(first, first + down), slice(None), slice(start, start + across)
            block = rows[part].astype(wide, order="C")
            if before is not None:
                combine(block[..., 0], before, out=block[..., 0])
            sums = _by_triangles(block) if combine is numpy.add and wide in _BLAS else None
            if sums is None:
                sums = combine.accumulate(block, 2, None, block)
            results[part] = sums
            before = sums[..., -1]
    return made


def _by_triangles(block: Any) -> Any | None:
    """Return the running sums of rows in steps, by products with a triangle of ones, and what came
    before each step; None where one is not finite: zeros of the triangle make NaN of infinities,
    also before them.
    """
    lead, length = block.shape[:2], block.shape[2]
    whole = length - length % _STEP
    if whole <= _STEP:
        return None
    steps = numpy.matmul(block[..., :whole].reshape(-1, _STEP), _TRIANGLE)
    steps = steps.reshape(*lead, whole // _STEP, _STEP)
    before = numpy.add.accumulate(steps[..., -1], 2)
    numpy.add(steps[:, :, 1:], before[..., :-1, None], out=steps[:, :, 1:])
    sums = steps.reshape(*lead, whole)
    if whole < length:
        rest = block[..., whole:].copy()
        rest[..., 0] += before[..., -1]
        sums = numpy.concatenate([sums, numpy.add.accumulate(rest, 2, None, rest)], 2)
    return sums if numpy.isfinite(sums).all() else None


class FastScans(Scans):
    """Cumulative sums and products."""

    def cumprod(self, x: Any, dim: int, *, dtype: Any = None) -> Any:
        """Return the cumulative products."""
        return self._accumulated(numpy.multiply, Scans.cumprod, x, dim, dtype)

    def cumsum(self, x: Any, dim: int, *, dtype: Any = None) -> Any:
        """Return the cumulative sums."""
        return self._accumulated(numpy.add, Scans.cumsum, x, dim, dtype)

    def _accumulated(self, combine: Any, generic: Function, x: Any, dim: int, dtype: Any) -> Any:
        """Return the running results of `combine`, of half precision and in any other dtype than
        those of `_BLAS` by `generic`.
        """
        if dtype is not None and dtype in _BLAS:
            x, dtype = self.precision.converted(x, dtype), None
        ndim, own = x.ndim, x.dtype
        if dtype is not None or own in self.precision.halves or not ndim:
            return generic(self, x, dim, dtype=dtype)
        axis = wrap_dim(dim, ndim)
        wide = _WIDE.get(own)
        if x.size >= _MANY and own in _BLAS and (made := _down_lines(combine, x, axis)) is not None:
            return made
        if x.size >= _MANY and (wide is not None or self._has_long_rows(combine, x, axis)):
            return _in_blocks(combine, x, axis, wide or own)
        made = combine.accumulate(x, axis, wide or self.precision.accumulators.get(own))
        if wide is not None:
            made = made.astype(own)
        return made if ndim == 1 else self.capabilities.contiguous(made)

    def _has_long_rows(self, combine: Any, x: Any, axis: int) -> bool:
        """Return whether rows are to be summed up that are long enough for steps."""
        is_sum = combine is numpy.add and x.dtype in _BLAS
        return is_sum and axis == x.ndim - 1 and x.shape[axis] >= 2 * _STEP


class FastRunning(Running):
    """Running results by the methods of ufuncs; what combines complex numbers is none."""

    def _running(self, combine: Any, x: Any, axis: int) -> Any:
        """Return the running results, by one pass over the elements."""
        if isinstance(combine, numpy.ufunc):
            return combine.accumulate(x, axis)
        return Running._running(self, combine, x, axis)


class FastRunningExtrema(RunningExtrema, FastRunning):
    """The greatest and least elements so far."""

    def logcumsumexp(self, x: Any, dim: int) -> Any:
        """Return the logarithm of the sum of exponentials along `dim` up to each element."""
        own = x.dtype
        wide = _WIDE.get(own)
        if wide is None:
            return RunningExtrema.logcumsumexp(self, x, dim)
        return RunningExtrema.logcumsumexp(self, x.astype(wide), dim).astype(own)


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
