"""Maxima of elements that lie side by side, with their places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_kernel.types import FLOAT

from ....kernel_support.family import Family
from ....typing import Array

_ALL = slice(None)


class Maxima(Family):
    """Maxima along one dimension after the other.

    The first of equal elements counts, in the order in which they lie in memory, and of several NaN
    the last. That order is kept by going from the last dimension to the first.
    """

    def _maxima(
        self, values: Array, places: Array, elements: Sequence[Sequence[object]]
    ) -> tuple[Any, Any]:
        """Return the maxima along the last dimensions, and the places where they are.

        Parameters
        ----------
        values
            Of images, any dimensions before them.
        places
            Of the elements of one image.
        elements
            For each dimension where the elements of all windows lie: the first ones, the second
            ones, and so on. Slices, or sequences of integers.
        """
        xp = self.xp
        for axis in range(-1, -1 - len(elements), -1):
            best: Any = None
            where: Any = None
            for each in elements[axis]:
                value, place = self._taken(values, axis, each), self._taken(places, axis, each)
                best, where = self._larger(best, where, value, place)
            values, places = best, where
        if places.shape != values.shape:
            places = xp.array(self.capabilities.expand(places, values.shape), copy=True)
        return self.ordered(self._new(values)), self.ordered(places)

    def _larger(
        self, best: Array | None, where: Array | None, value: Array, place: Array
    ) -> tuple[Any, Any]:
        """Return the larger of elements with their places: of equal ones the former, of NaN the
        latter.
        """
        if best is None:
            return value, place
        xp = self.xp
        better = xp.greater(value, best)
        if self.dtypes[value.dtype].category == FLOAT:
            better = xp.logical_or(better, xp.not_equal(value, value))
        return xp.where(better, value, best), xp.where(better, place, where)

    def _taken(self, x: Array, axis: int, elements: object) -> Any:
        """Return elements along a dimension, which counts from the last."""
        if isinstance(elements, slice):
            return x[(..., elements, *(_ALL,) * (-1 - axis))]
        return self.xp.take(x, self.xp.asarray(elements, dtype=self.xp.int64), axis=axis)

    def _new(self, values: Array) -> Any:
        """Return a new array: maxima over windows of one element are a view of the argument."""
        return self.xp.array(values, copy=True)
