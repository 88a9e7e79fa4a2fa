"""Averages over windows of small images, by a table of the elements of all windows: there every
call of NumPy costs more than what it computes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy

from dovetail_aten.families.pooling.kernels.average_pooling import AveragePooling
from dovetail_aten.families.pooling.kernels.runs import Divisors, Runs

from .constants import ones_of
from .places_under_windows import lines_of_runs, places_under

_BLAS: Final = (numpy.dtype(numpy.float32), numpy.dtype(numpy.float64))
_MANY: Final = 1 << 12
"""Elements from which slices cost less than a table."""
_LONGER: Final = 2
"""How many times as many elements as there are runs one has, from where on it is summed alone."""
_LARGEST_TABLE: Final = 1 << 13
"""Elements of a table that is kept."""
_add: Any = numpy.add.reduce
_divide: Any = numpy.true_divide


class FastAveragePooling(AveragePooling):
    """Averages over windows of small images."""

    def _averages(self, x: Any, runs: Sequence[Runs], divisors: Divisors) -> Any:
        if 0 < x.size < _MANY and x.dtype.kind == "f":
            table = _table_of(tuple(runs), x.size)
            if table is not None:
                sums = _sums_by_table(x, table)
                divisor = self._divisor(divisors, sums.size, x.dtype)
                return _divide(sums, divisor, sums).reshape(_shape_of(x, table))
        return AveragePooling._averages(self, x, runs, divisors)

    def _sums(self, x: Any, runs: Sequence[Runs]) -> Any:
        """Return the sums over runs along the last dimensions: of small images by a table; else
        from the first of them, since what is left out there lies side by side.
        """
        if 0 < x.size < _MANY and x.dtype.kind == "f":
            table = _table_of(tuple(runs), x.size)
            if table is not None:
                return _sums_by_table(x, table).reshape(_shape_of(x, table))
        for axis, each in enumerate(runs, x.ndim - len(runs)):
            x = self._sums_along(x, axis, each)
        return x

    def _divided(self, sums: Any, divisors: Divisors) -> Any:
        """Return sums divided by a number, or by one for each place of the last dimensions that is
        kept.
        """
        dtype = sums.dtype
        if not 0 < sums.size < _MANY or dtype.kind != "f":
            return AveragePooling._divided(self, sums, divisors)
        flat = sums.reshape(-1)
        return _divide(flat, self._divisor(divisors, flat.size, dtype)).reshape(sums.shape)

    def _divisor(self, divisors: Divisors, count: int, dtype: Any) -> Any:
        """Return by what `count` sums in a line are divided."""
        if isinstance(divisors, int):
            return self.numbers.of_dtype(divisors, dtype)
        return _divisors_of(tuple(map(tuple, divisors)), count, dtype)

    def _sums_along(self, x: Any, axis: int, runs: Runs) -> Any:
        """Return the sum over each run along `axis`: of long ones by a call for each."""
        number, length = len(runs.starts), max(runs.lengths, default=0)
        if number >= _LONGER * x.shape[axis] ** 2:
            return _spread_along(x, axis, runs)
        if length < _LONGER * number or x.size < _MANY:
            return AveragePooling._sums_along(self, x, axis, runs)
        before = (slice(None),) * axis
        made: Any = numpy.empty((*x.shape[:axis], number, *x.shape[axis + 1 :]), x.dtype)
        for place, (start, stop) in enumerate(zip(runs.starts, runs.stops, strict=True)):
            run = x[(*before, slice(max(start, 0), min(stop, runs.size)))]
            _add(run, axis, x.dtype, made[(*before, place)])
        return made


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


def _sums_by_table(x: Any, table: _Table) -> Any:
    """Return the sums of windows over small images in a line."""
    dtype, elements = x.dtype, x.reshape(-1)
    if table.is_padded:
        padded = numpy.empty(x.size + 1, dtype)
        padded[:-1], padded[-1] = elements, 0
        elements = padded
    elements = elements.take(table.elements)
    # A product with ones takes a third of the time of a reduction.
    return ones_of(len(elements), dtype).dot(elements) if dtype in _BLAS else _add(elements, 0)


def _shape_of(x: Any, table: _Table) -> tuple[int, ...]:
    """Return the shape of the sums."""
    return (*x.shape[: x.ndim - len(table.numbers)], *table.numbers)


def _spread_along(x: Any, axis: int, runs: Runs) -> Any:
    """Return the sum over each run along `axis` where there are many more runs than elements: by a
    call for each element.
    """
    made = numpy.zeros((*x.shape[:axis], len(runs.starts), *x.shape[axis + 1 :]), x.dtype)
    before, over = (slice(None),) * axis, runs.transposed()
    for place, (first, behind) in enumerate(zip(over.starts, over.stops, strict=True)):
        part = made[(*before, slice(first, behind))]
        numpy.add(part, x[(*before, slice(place, place + 1))], part)
    return made


@lru_cache(64)
def _table_of(runs: tuple[Runs, ...], size: int) -> _Table | None:
    """Return the table for images of `size` elements together; None where that would be much, or
    there is nothing in it.
    """
    pixels = math.prod([each.size for each in runs])
    images = size // pixels
    found = places_under([lines_of_runs(each) for each in runs], _LARGEST_TABLE // images)
    if found is None:
        return None
    # The elements of a window below each other.
    places, within = [each.T for each in found]
    begins = numpy.arange(images)[:, None] * pixels
    elements = numpy.where(within[:, None], begins + places[:, None], size)
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
