"""The order of elements along a dimension, which sorting and selecting kernels share."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import bfloat16, float32

from ..typing import Array
from .family import Family


class Sorted(Family):
    """Stable orders, with NaN as the greatest."""

    def _sortable(self, x: Array) -> Any:
        """Return `x`, or its elements in a dtype that the library can order, NaN last: bfloat16 is
        an addition to most, without such an order.
        """
        if self.dtypes[x.dtype] is bfloat16:
            return x.astype(self.native_dtypes[float32])
        return x

    def _order(self, x: Any, axis: int, descending: bool) -> Any:
        """Return the stable order along `axis`."""
        xp, x = self.xp, self._sortable(x)
        if not descending:
            return xp.argsort(x, axis=axis, stable=True)
        # Ascending from the far end and then read backwards keeps equal elements in their order,
        # and NaN first.
        size = x.shape[axis]
        backwards = xp.argsort(xp.flip(x, axis=axis), axis=axis, stable=True)
        return (size - 1) - xp.flip(backwards, axis=axis)
