"""Maxima of windows by passes over slices: what was chosen is counted in small integers, and their
places are looked up at the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, Final

import numpy

from dovetail_aten.array_kernels.max_pooling import MaxPooling

from .threads import run_pieces

_BITS: Final = {
    numpy.dtype(numpy.float32): numpy.dtype(numpy.int32),
    numpy.dtype(numpy.float64): numpy.dtype(numpy.int64),
}
_MANY: Final = 1 << 13
"""Elements from which blocks pay."""
_BLOCK: Final = 1 << 16
"""Elements at a time."""
_MOST: Final = 1 << 16
"""Places under a window that the small integers tell apart."""


class FastMaxPooling(MaxPooling):
    """Maxima of large images."""

    def _maxima(
        self, values: Any, places: Any, elements: Sequence[Sequence[Any]]
    ) -> tuple[Any, Any]:
        """Return the maxima along the last dimensions, and the places where they are."""
        kernel = [len(each) for each in elements]
        count = math.prod(kernel)
        if values.size < _MANY or values.dtype not in _BITS or not 1 < count <= _MOST:
            return MaxPooling._maxima(self, values, places, elements)
        lead = values.shape[: values.ndim - len(elements)]
        sizes = values.shape[len(lead) :]
        images = values.reshape(-1, *sizes)
        # Of each place under a window where it is in the image.
        table = numpy.stack(
            [self._under(places, elements, each) for each in product(*map(range, kernel))], -1
        )
        shape, windows = table.shape[:-1], math.prod(table.shape[:-1])
        table, first = table.reshape(-1), numpy.arange(0, windows * count, count)
        made = numpy.empty((len(images), windows), values.dtype)
        where = numpy.empty((len(images), windows), numpy.int64)
        code = numpy.dtype(numpy.uint8 if count <= 256 else numpy.uint16)
        step = max(1, _BLOCK // math.prod(sizes))

        def compute(begin: int, end: int) -> None:
            for start in range(begin * step, min(end * step, len(images)), step):
                some = slice(start, min(start + step, len(images)))
                best, chosen = self._chosen(images[some], elements, code)
                made[some] = best.reshape(-1, windows)
                index = chosen.reshape(-1, windows).astype(numpy.int64)
                numpy.add(index, first, out=index)
                table.take(index, None, where[some], "clip")

        run_pieces(compute, -(-len(images) // step), values.size)
        if numpy.isnan(numpy.add.reduce(made, None)) and numpy.isnan(made).any():
            # Of several NaN the last one counts.
            return MaxPooling._maxima(self, values, places, elements)
        return made.reshape(*lead, *shape), where.reshape(*lead, *shape)

    def _chosen(self, images: Any, elements: Sequence[Sequence[Any]], code: Any) -> tuple[Any, Any]:
        """Return the maxima of some images, and which place under its window each has."""
        best, scale = images, 1
        bits: Any = _BITS[images.dtype]
        has_minus_zero = numpy.equal(images.view(bits), numpy.iinfo(bits).min).any()
        greatest: Any = _greater if has_minus_zero else numpy.maximum
        chosen: Any = None
        for axis in range(-1, -1 - len(elements), -1):
            values, codes, offsets = best, chosen, elements[axis]
            best = self._taken(values, axis, offsets[0])
            chosen = None if codes is None else self._taken(codes, axis, offsets[0])
            for number, offset in enumerate(offsets[1:], 1):
                value = self._taken(values, axis, offset)
                better = numpy.greater(value, best).view(numpy.uint8)
                best = greatest(value, best)
                # What comes later has the greater number, so the greatest of those that were
                # better than all before is the one.
                if codes is None:
                    other = numpy.multiply(better, code.type(number * scale), dtype=code)
                else:
                    other = numpy.add(self._taken(codes, axis, offset), code.type(number * scale))
                    numpy.multiply(other, better, out=other)
                chosen = other if chosen is None else numpy.maximum(chosen, other)
            scale *= len(offsets)
        return best, numpy.zeros(best.shape, code) if chosen is None else chosen

    def _under(self, places: Any, elements: Sequence[Sequence[Any]], offsets: Sequence[int]) -> Any:
        """Return the places at some offsets under all windows."""
        for axis, (each, offset) in enumerate(zip(elements, offsets, strict=True)):
            places = self._taken(places, axis - len(elements), each[offset])
        return places


def _greater(value: Any, best: Any) -> Any:
    """Return the greater of elements, and of equal ones `best`: 0 and -0 are equal."""
    made = numpy.maximum(value, best)
    zeros = numpy.equal(made, 0)
    return numpy.where(zeros, numpy.where(numpy.greater(value, best), value, best), made)
