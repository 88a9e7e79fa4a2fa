"""Scans: cumulative sums and products."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import bool as bool_
from dovetail_kernel.typing import NativeDtype

from ....kernel_support.dims import wrap_dim
from ....kernel_support.family import Family, operator
from ....kernel_support.table import Function
from ....typing import Array


class Scans(Family):
    """Cumulative sums and products."""

    @operator("cumsum")
    def cumsum(self, x: Array, dim: int, *, dtype: NativeDtype | None = None) -> Any:
        """Return the sums of all elements along `dim` up to each element, in int64 for integers."""
        return self._scanned("cumsum", self.xp.cumsum, x, dim, dtype)

    @operator("cumprod")
    def cumprod(self, x: Array, dim: int, *, dtype: NativeDtype | None = None) -> Any:
        """Return the products of all elements along `dim` up to each element, in int64 for
        integers.
        """
        return self._scanned("cumprod", self.xp.cumprod, x, dim, dtype)

    def _scanned(self, name: str, scan: Function, x: Any, dim: int, dtype: Any) -> Any:
        """Return the scan along `dim`, accumulated in float32 or int64, in the wanted dtype."""
        if dtype is not None:
            if self.dtypes[dtype] is bool_ and x.ndim and x.size:
                raise NotImplementedError(
                    f"\"{name}_out_cpu\" not implemented for 'Bool'. Ask for a number dtype."
                )
            x = self.precision.converted(x, dtype)
        own, precision = x.dtype, self.precision
        wide = precision.accumulators.get(own, own)
        keeps = own in precision.halves or dtype is not None
        axis = wrap_dim(dim, x.ndim)
        if not x.ndim:
            return self.xp.array(x, dtype=own if keeps else wide, copy=True)  # JAX's astype may not
        result = self.ordered(scan(x, axis=axis, dtype=wide))
        return result.astype(own, copy=False) if keeps else result
