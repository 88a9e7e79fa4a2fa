"""Scans: cumulative sums and products."""

from __future__ import annotations

from typing import Any

from .dims import wrap_dim
from .family import Family, operator
from .table import Function


class Scans(Family):
    """Cumulative sums and products."""

    @operator("cumsum")
    def cumsum(self, x: Any, dim: int, *, dtype: Any = None) -> Any:
        """Return the sums of all elements along `dim` up to each one, of integers in int64."""
        return self._scanned(self.xp.cumsum, x, dim, dtype)

    @operator("cumprod")
    def cumprod(self, x: Any, dim: int, *, dtype: Any = None) -> Any:
        """Return the products of all elements along `dim` up to each one, of integers in int64."""
        return self._scanned(self.xp.cumprod, x, dim, dtype)

    def _scanned(self, scan: Function, x: Any, dim: int, dtype: Any) -> Any:
        """Return the scan along `dim`, accumulated in float32 or int64, in the wanted dtype."""
        if dtype is not None:
            x = self.precision.converted(x, dtype)
        own, precision = x.dtype, self.precision
        wide = precision.accumulators.get(own, own)
        keeps = own in precision.halves or dtype is not None
        axis = wrap_dim(dim, x.ndim)
        if not x.ndim:
            return x.astype(own if keeps else wide)
        result = self.ordered(scan(x, axis=axis, dtype=wide))
        return result.astype(own, copy=False) if keeps else result
