"""Order: sort, topk, nonzero."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import bfloat16, float32

from .dims import wrap_dim
from .family import Family, operator


class Ordering(Family):
    """Sorting, the greatest, and the places of what is not zero."""

    def _sortable(self, x: Any) -> Any:
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
            return xp.argsort(x, axis=axis, kind="stable")
        # Ascending from the far end and then read backwards keeps equal elements in their order,
        # and NaN first.
        size = x.shape[axis]
        backwards = xp.argsort(xp.flip(x, axis=axis), axis=axis, kind="stable")
        return (size - 1) - xp.flip(backwards, axis=axis)

    @operator("sort")
    def sort(self, x: Any, dim: int = -1, descending: bool = False) -> tuple[Any, Any]:
        """Return the elements sorted along `dim`, and where they were. The sort is stable."""
        xp = self.xp
        axis = wrap_dim(dim, x.ndim)
        if not x.ndim:
            return self.capabilities.clone(x), xp.zeros((), dtype=xp.int64)
        indices = self._order(x, axis, descending)
        return xp.take_along_axis(x, indices, axis=axis), indices

    @operator("topk")
    def topk(
        self, x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
    ) -> tuple[Any, Any]:
        """Return the `k` greatest, or least, elements along `dim` in order, and where they were."""
        xp = self.xp
        axis = wrap_dim(dim, x.ndim)
        size = x.shape[axis] if x.ndim else 1
        if not 0 <= k <= size:
            raise RuntimeError(
                f"selected index k out of range: {k} of {size} elements along dim {dim}"
            )
        if not x.ndim:
            return self.capabilities.clone(x), xp.zeros((), dtype=xp.int64)
        key = (slice(None),) * axis + (slice(0, k),)
        indices = self.capabilities.clone(self._order(x, axis, largest)[key])
        return xp.take_along_axis(x, indices, axis=axis), indices

    @operator("nonzero")
    def nonzero(self, x: Any) -> Any:
        """Return the places of all elements that are not zero, one in each row."""
        xp = self.xp
        if x.ndim:
            # PyTorch lists the places dimension by dimension, too.
            return xp.stack(xp.nonzero(x)).T
        # One row or none, of no columns, without looking at the value.
        return xp.nonzero(x.reshape(1))[0][:, None][:, :0]
