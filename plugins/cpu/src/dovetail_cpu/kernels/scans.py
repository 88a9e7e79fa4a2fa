"""Running results by the methods of ufuncs, sums of the channels of many images.

What is in single precision is accumulated in double, as PyTorch does: each step would lose a
rounding otherwise, and what overflows on the way would not come back.
"""

from __future__ import annotations

from typing import Any

import numpy
import numpy as np

from dovetail_aten.families import ChannelNormalization, RunningExtrema, Scans, Selection
from dovetail_aten.kernel_support import Function, Running
from dovetail_aten.typing import Array

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


class WideChannels(ChannelNormalization):
    """Sums over the channels of a batch, which lie apart in memory, in double precision of what is
    in single.
    """

    def _sum_over(self, x: Array, axes: tuple[int, ...]) -> Any:
        return x.sum(axis=axes, dtype=_WIDE.get(x.dtype)).astype(x.dtype, copy=False)


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
        own = x.dtype
        wide = _WIDE.get(own)
        if wide is None:
            return RunningExtrema.logcumsumexp(self, x, dim)
        return RunningExtrema.logcumsumexp(self, x.astype(wide), dim).astype(own)


class FastSelection(Selection, FastRunning):
    """Elements selected by rank or frequency."""
