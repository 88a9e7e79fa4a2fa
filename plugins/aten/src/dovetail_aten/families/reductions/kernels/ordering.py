"""Order: sort, topk, nonzero."""

from __future__ import annotations

from typing import Any

from ....kernel_support.argsort import Sorted
from ....kernel_support.dims import wrap_dim
from ....kernel_support.family import never_warns, operator
from ....typing import Array


class Ordering(Sorted):
    """Sorting, the greatest elements, and the indices of nonzero elements."""

    @operator("sort")
    def sort(self, x: Any, dim: int = -1, descending: bool = False) -> tuple[Any, Any]:
        """Return the elements sorted along `dim`, and their indices. The sort is stable."""
        xp = self.xp
        axis = wrap_dim(dim, x.ndim)
        if not x.ndim:
            return self.capabilities.clone(x), xp.zeros((), dtype=xp.int64)
        indices = self._order(x, axis, descending)
        return xp.take_along_axis(x, indices, axis=axis), indices

    @operator("sort.stable")
    def sort_stable(
        self, x: Array, *, stable: bool | None, dim: int = -1, descending: bool = False
    ) -> tuple[Any, Any]:
        """Return the result of `sort`: every sort is stable."""
        return self.sort(x, dim, descending)

    @operator("topk")
    def topk(
        self, x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
    ) -> tuple[Any, Any]:
        """Return the `k` greatest, or least, elements along `dim` in order, and their indices."""
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
    @never_warns
    def nonzero(self, x: Array) -> Any:
        """Return the indices of the nonzero elements, one in each row."""
        xp = self.xp
        if x.ndim:
            # PyTorch lists the places dimension by dimension, too.
            return xp.stack(xp.nonzero(x)).T
        # One row or none, of no columns, without looking at the value.
        return xp.nonzero(xp.reshape(x, (1,)))[0][:, None][:, :0]

    @operator("nonzero_static")
    def nonzero_static(self, x: Any, *, size: int, fill_value: int = -1) -> Any:
        """Return the indices of the first `size` nonzero elements, one in each row, followed by
        rows of `fill_value` if there are fewer.
        """
        xp = self.xp
        if size < 0:
            raise RuntimeError(
                f"nonzero_static: 'size' must be an non-negative integer, but is {size}."
            )
        if not x.ndim or not x.size:
            return xp.full((size, x.ndim), fill_value, dtype=xp.int64)
        zero = xp.reshape(x == 0, (-1,))
        order = xp.argsort(zero, axis=0, stable=True)[:size]
        numbers = []
        for length in reversed(x.shape):
            numbers.append(order % length)
            order = order // length
        places = xp.stack(numbers[::-1], axis=1)
        if len(places) < size:
            rest = xp.full((size - len(places), x.ndim), fill_value, dtype=xp.int64)
            places = xp.concatenate([places, rest], axis=0)
        found = xp.arange(size, dtype=xp.int64) < xp.sum(x != 0, axis=None, dtype=xp.int64)
        return xp.where(found[:, None], places, fill_value)
