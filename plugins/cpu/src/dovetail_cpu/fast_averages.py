"""Averages over windows of small images, by a table of the elements of all windows: there every
call of NumPy costs more than what it computes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

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
        if x.size < _MANY and isinstance(divisors, int) and x.dtype.kind == "f":
            table = _table_of(tuple(runs), x.size)
            if table is not None:
                elements = x.reshape(-1).take(table)
                dtype = x.dtype
                # A product with ones takes a third of the time of a reduction.
                sums = (
                    ones_of(len(table), dtype).dot(elements)
                    if dtype in _BLAS
                    else _add(elements, 0)
                )
                numpy.true_divide(sums, self.numbers.of_dtype(divisors, dtype), sums)
                lead = x.shape[: x.ndim - len(runs)]
                return sums.reshape(*lead, *[len(each.starts) for each in runs])
        return AveragePooling._averages(self, x, runs, divisors)


@lru_cache(64)
def _table_of(runs: tuple[Runs, ...], size: int) -> Any:
    """Return where the first elements of all windows over images lie, the second ones, and so on;
    None where that would be much, or a window reaches beyond its image.
    """
    pixels = math.prod([each.size for each in runs])
    places = numpy.zeros((1, 1), numpy.int64)
    for each in runs:
        lengths = {stop - start for start, stop in zip(each.starts, each.stops, strict=True)}
        if len(lengths) != 1 or each.starts[0] < 0 or each.stops[-1] > each.size:
            return None
        (length,) = lengths
        at = numpy.arange(length)[:, None] + numpy.array(each.starts)
        places = places[:, None, :, None] * each.size + at[:, None]
        places = places.reshape(places.shape[0] * length, -1)
        if places.size * (size // pixels) > _LARGEST_TABLE:
            return None
    images = numpy.arange(size // pixels)[:, None] * pixels
    return (images + places[:, None]).reshape(len(places), -1)
