"""Running results by the methods of ufuncs; sums of long rows by matrix products."""

from __future__ import annotations

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
_STEP = 20
"""Length of the pieces that a cumulative sum is made of."""
_TRIANGLES = {each: numpy.tri(_STEP, dtype=each).T.copy() for each in _BLAS}
_added: Any = numpy.add.accumulate
_multiplied: Any = numpy.multiply.accumulate


class FastScans(Scans):
    """Cumulative sums and products."""

    def cumprod(self, x: Any, dim: int, *, dtype: Any = None) -> Any:
        """Return the cumulative products."""
        ndim, own = x.ndim, x.dtype
        if dtype is not None or own in self.precision.halves or not ndim:
            return Scans.cumprod(self, x, dim, dtype=dtype)
        result = _multiplied(x, wrap_dim(dim, ndim), self.precision.accumulators.get(own))
        return result if ndim == 1 else self.capabilities.contiguous(result)

    def cumsum(self, x: Any, dim: int, *, dtype: Any = None) -> Any:
        """Return the cumulative sums: along long rows by products with a triangle of ones."""
        ndim, own = x.ndim, x.dtype
        axis = wrap_dim(dim, ndim)
        if dtype is not None or own in self.precision.halves or not ndim:
            return Scans.cumsum(self, x, dim, dtype=dtype)
        if (
            x.size < _MANY
            or own not in _BLAS
            or axis != ndim - 1
            or x.shape[-1] % _STEP
            or not x.flags.c_contiguous
        ):
            result = _added(x, axis, self.precision.accumulators.get(own))
            return result if ndim == 1 else self.capabilities.contiguous(result)
        # Sums within short steps as a product with a triangle of ones, then what came before each
        # step.
        steps = (
            x.reshape(-1, _STEP).dot(_TRIANGLES[x.dtype]).reshape(-1, x.shape[-1] // _STEP, _STEP)
        )
        before = numpy.cumsum(steps[:, :-1, -1], 1)
        numpy.add(steps[:, 1:], before[:, :, None], out=steps[:, 1:])
        if not numpy.isfinite(steps[:, -1, -1]).all():
            # Zeros of the triangle make NaN of infinities, also before them.
            return Scans.cumsum(self, x, dim)
        return steps.reshape(x.shape)


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


class FastDistinct(PackedOrder, Distinct):
    """Distinct elements; of real numbers alone by sorting them."""

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
        rows = numpy.sort(x, None)
        starts = self._starts(rows)
        counts = self._empty_places()
        if return_counts and rows.size:
            counts = numpy.diff(numpy.flatnonzero(starts), append=rows.size)
        return rows[starts], self._empty_places(), counts
