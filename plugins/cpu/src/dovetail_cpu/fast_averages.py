"""Averages over windows of small images, by a table of the elements of all windows: there every
call of NumPy costs more than what it computes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy

from dovetail_aten.array_kernels.average_pooling import AveragePooling
from dovetail_aten.array_kernels.runs import Divisors, Runs

from .constants import ones_of

_BLAS: Final = (numpy.dtype(numpy.float32), numpy.dtype(numpy.float64))
_MANY: Final = 1 << 12
"""Elements from which slices cost less than a table."""
_LARGEST_TABLE: Final = 1 << 13
"""Elements of a table that is kept."""
_add: Any = numpy.add.reduce


class FastAveragePooling(AveragePooling):
    """Averages over windows of small images."""

    def _averages(self, x: Any, runs: Sequence[Runs], divisors: Divisors) -> Any:
        if 0 < x.size < _MANY and x.dtype.kind == "f":
            made = self._by_table(x, runs, divisors)
            if made is not None:
                return made
        return AveragePooling._averages(self, x, runs, divisors)

    def _by_table(self, x: Any, runs: Sequence[Runs], divisors: Divisors) -> Any:
        """Return the averages over windows of small images; None where a table would be large."""
        table = _table_of(tuple(runs), x.size)
        if table is None:
            return None
        dtype, elements = x.dtype, x.reshape(-1)
        if table.is_padded:
            padded = numpy.empty(x.size + 1, dtype)
            padded[:-1], padded[-1] = elements, 0
            elements = padded
        elements = elements.take(table.elements)
        # A product with ones takes a third of the time of a reduction.
        sums = ones_of(len(elements), dtype).dot(elements) if dtype in _BLAS else _add(elements, 0)
        if isinstance(divisors, int):
            divisor = self.numbers.of_dtype(divisors, dtype)
        else:
            lines = tuple([tuple(each) for each in divisors])
            divisor = _divisors_of(lines, sums.size, dtype)
        numpy.true_divide(sums, divisor, sums)
        return sums.reshape(*x.shape[: x.ndim - len(runs)], *table.numbers)


class _Table(NamedTuple):
    """The elements of all windows over images.

    Attributes
    ----------
    elements
        Where the first element of each window lies, where the second ones do, and so on. What a
        window has not is the element behind all.
    is_padded
        Whether there are such.
    numbers
        Windows along each dimension.
    """

    elements: Any
    is_padded: bool
    numbers: tuple[int, ...]


@lru_cache(64)
def _table_of(runs: tuple[Runs, ...], size: int) -> _Table | None:
    """Return the table for images of `size` elements together; None where that would be much, or
    there is nothing in it.
    """
    pixels = math.prod([each.size for each in runs])
    places, within = numpy.zeros((1, 1), numpy.int64), numpy.ones((1, 1), bool)
    for each in runs:
        starts, stops = numpy.array(each.starts, numpy.int64), numpy.array(each.stops, numpy.int64)
        length = int((stops - starts).max(initial=0))
        at = numpy.arange(length)[:, None] + starts
        is_inside = (at >= 0) & (at < numpy.minimum(stops, each.size))
        places = places[:, None, :, None] * each.size + at[:, None]
        within = within[:, None, :, None] & is_inside[:, None]
        shape = (places.shape[0] * length, -1)
        if not places.size or places.size * (size // pixels) > _LARGEST_TABLE:
            return None
        places, within = places.reshape(shape), within.reshape(shape)
    images = numpy.arange(size // pixels)[:, None] * pixels
    elements = numpy.where(within[:, None], images + places[:, None], size)
    numbers = tuple([len(each.starts) for each in runs])
    return _Table(elements.reshape(len(places), -1), not within.all(), numbers)


@lru_cache(64)
def _divisors_of(lines: tuple[tuple[int, ...], ...], count: int, dtype: Any) -> Any:
    """Return by what `count` sums are divided, those of one image after the other."""
    product = numpy.ones(1, dtype)
    for each in lines:
        product = numpy.multiply.outer(product, numpy.array(each, dtype)).reshape(-1)
    if (product == product[0]).all():
        return product[0]
    return numpy.tile(product, count // len(product))
