"""Running extrema, and the logarithm of running sums of exponentials."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import bfloat16, float32
from dovetail_kernel.types import FLOAT

from ....kernel_support.cumulative import Running
from ....kernel_support.dims import wrap_dim
from ....kernel_support.family import operator, widened
from ....kernel_support.table import Function
from ....typing import Array


class RunningExtrema(Running):
    """Cumulative maxima and minima, and the cumulative logsumexp."""

    @operator("cummax")
    def cummax(self, x: Array, dim: int) -> tuple[Any, Any]:
        """Return the greatest element along `dim` up to each element, and its last index."""
        return self._extrema(self.xp.maximum, x, dim)

    @operator("cummin")
    def cummin(self, x: Array, dim: int) -> tuple[Any, Any]:
        """Return the least element along `dim` up to each element, and its last index."""
        return self._extrema(self.xp.minimum, x, dim)

    def _extrema(self, choose: Function, x: Array, dim: int) -> tuple[Any, Any]:
        """Return the running extrema that `choose` finds among two, and their places."""
        xp, axis = self.xp, wrap_dim(dim, x.ndim)
        if not x.ndim or not x.size:
            return self.capabilities.clone(x), xp.zeros(x.shape, dtype=xp.int64)
        kind = self.dtypes[x.dtype]
        wide = x.astype(self.native_dtypes[float32]) if kind is bfloat16 else x
        values = self._running(choose, wide, axis)
        reached = wide == values
        if kind.category >= FLOAT:  # NaN is the extremum from its first place on
            reached = xp.logical_or(reached, xp.isnan(wide))
        places = self._running(xp.maximum, xp.where(reached, self._places(x, axis), 0), axis)
        return self.ordered(values.astype(x.dtype, copy=False)), self.ordered(places)

    @operator("logcumsumexp")
    @widened
    def logcumsumexp(self, x: Any, dim: int) -> Any:
        """Return the logarithm of the sum of exponentials along `dim` up to each element."""
        axis = wrap_dim(dim, x.ndim)
        self.check_float("logcumsumexp_out_cpu", x)
        if not x.ndim or not x.size:
            return self.capabilities.clone(x)
        is_complex = x.dtype in self.precision.complex
        combine = self.table.kernels["logaddexp"].fn if is_complex else self.xp.logaddexp
        return self.ordered(self._running(combine, x, axis))
