"""Elements selected by their rank, or by how often they occur: medians, modes, k-th values."""

from __future__ import annotations

import math
from typing import Any

from dovetail_kernel.types import FLOAT

from ....kernel_support.argsort import Sorted
from ....kernel_support.cumulative import Running
from ....kernel_support.dims import wrap_dim
from ....kernel_support.family import operator
from ....typing import Array


class Selection(Running, Sorted):
    """Elements selected by rank or frequency, and their indices."""

    def _checked_axis(self, name: str, x: Array, dim: int) -> int:
        """Return the dimension to select along, which must have elements."""
        axis = wrap_dim(dim, x.ndim)
        if x.ndim and not x.shape[axis]:
            raise IndexError(
                f"{name}(): Expected reduction dim {axis} to have non-zero size. Reduce a "
                "non-empty dimension."
            )
        return axis

    def _picked(self, x: Array, indices: Any, axis: int, keepdim: bool) -> tuple[Any, Any]:
        """Return the elements at `indices`, which have size 1 along `axis`, and these."""
        values = self.ordered(self.xp.take_along_axis(x, indices, axis=axis))
        indices = self.ordered(indices)
        return (values, indices) if keepdim else (values.squeeze(axis), indices.squeeze(axis))

    def _ranked(
        self, x: Array, order: Array, rank: Array, axis: int, keepdim: bool
    ) -> tuple[Any, Any]:
        """Return the elements of a rank, which has size 1 along `axis`, and their places."""
        return self._picked(x, self.xp.take_along_axis(order, rank, axis=axis), axis, keepdim)

    def _nans(self, x: Array, axis: int) -> Any:
        """Return how many elements along `axis` are NaN, in size 1 there."""
        xp = self.xp
        if self.dtypes[x.dtype].category < FLOAT:
            sizes = [1 if dim == axis else size for dim, size in enumerate(x.shape)]
            return xp.zeros(tuple(sizes), dtype=xp.int64)
        return xp.sum(xp.isnan(x), axis=axis, dtype=xp.int64, keepdims=True)

    def _single(self, x: Array) -> tuple[Any, Any]:
        """Return what is selected from an array without dimensions."""
        return self.capabilities.clone(x), self.xp.zeros((), dtype=self.xp.int64)

    @operator("median.dim")
    def median_along(self, x: Array, dim: int, keepdim: bool = False) -> tuple[Any, Any]:
        """Return the median along `dim`, the lower of two, and its index; the first NaN if there is
        one.
        """
        axis = self._checked_axis("median", x, dim)
        if not x.ndim:
            return self._single(x)
        size, nans = x.shape[axis], self._nans(x, axis)
        rank = self.xp.where(nans > 0, size - nans, (size - 1) // 2)
        return self._ranked(x, self._order(x, axis, False), rank, axis, keepdim)

    @operator("nanmedian.dim")
    def nanmedian_along(self, x: Array, dim: int, keepdim: bool = False) -> tuple[Any, Any]:
        """Return the median along `dim` of elements that are not NaN, the lower of two, and its
        index; NaN if all elements are NaN.
        """
        axis = self._checked_axis("median", x, dim)
        if not x.ndim:
            return self._single(x)
        numbers = x.shape[axis] - self._nans(x, axis)
        rank = self.xp.maximum(numbers - 1, 0) // 2
        return self._ranked(x, self._order(x, axis, False), rank, axis, keepdim)

    def _whole(self, x: Array) -> Any:
        """Return the elements in one dimension; NaN for none."""
        if x.size:
            return self.xp.reshape(x, (-1,))
        if self.dtypes[x.dtype].category < FLOAT:
            raise RuntimeError(
                "median(): Expected reduction dim to be specified for input.numel() == 0: there "
                "is no median of no integers. Give a tensor with elements."
            )
        return self.xp.full((1,), math.nan, dtype=x.dtype)

    @operator("median")
    def median(self, x: Array) -> Any:
        """Return the median of all elements, the lower of two; NaN if any element is NaN, or
        without elements.
        """
        return self.median_along(self._whole(x), 0)[0]

    @operator("nanmedian")
    def nanmedian(self, x: Array) -> Any:
        """Return the median of all elements that are not NaN, the lower of two, or NaN without such
        elements.
        """
        return self.nanmedian_along(self._whole(x), 0)[0]

    @operator("kthvalue")
    def kthvalue(self, x: Array, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Any, Any]:
        """Return the `k`-th least element along `dim`, counted from 1, and its index."""
        axis = self._checked_axis("kthvalue", x, dim)
        if not 1 <= k <= (x.shape[axis] if x.ndim else 1):
            raise RuntimeError(
                f"kthvalue(): selected number k out of range for dimension {axis}: {k} of "
                f"{x.shape[axis] if x.ndim else 1}."
            )
        if not x.ndim:
            return self._single(x)
        key = (slice(None),) * axis + (slice(k - 1, k),)
        return self._picked(x, self._order(x, axis, False)[key], axis, keepdim)

    @operator("mode")
    def mode(self, x: Array, dim: int = -1, keepdim: bool = False) -> tuple[Any, Any]:
        """Return the most frequent element along `dim`, the least of ties, and its last index."""
        xp = self.xp
        axis = self._checked_axis("mode", x, dim)
        if not x.ndim:
            return self._single(x)
        if not x.size:
            shape = [1 if d == axis else n for d, n in enumerate(x.shape)]
            if not keepdim:
                del shape[axis]
            empty = self.capabilities.empty
            return empty(tuple(shape), x.dtype), empty(tuple(shape), xp.int64)
        order = self._order(x, axis, False)
        rows = xp.take_along_axis(x, order, axis=axis)
        before = (slice(None),) * axis
        changes = rows[(*before, slice(1, None))] != rows[(*before, slice(0, -1))]
        first = xp.ones_like(rows[(*before, slice(0, 1))], dtype=xp.bool_)
        starts = xp.concatenate([first, changes], axis=axis)
        # The longest run ends where an element is farthest from the start of its run.
        places = self._places(x, axis)
        length = places - self._running(xp.maximum, xp.where(starts, places, 0), axis)
        rank = xp.expand_dims(xp.argmax(length, axis=axis), axis=axis)
        return self._ranked(x, order, rank, axis, keepdim)
