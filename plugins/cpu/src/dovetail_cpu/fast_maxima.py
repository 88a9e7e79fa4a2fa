"""Maxima of windows. Of large images by passes over slices: what was chosen is counted in small
integers, and their places are looked up at the end. Of small ones by a table of all elements of all
windows, since there every call of NumPy costs more than what it computes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Any, Final, NamedTuple

import numpy

from dovetail_aten.families.pooling.kernels.max_pooling import MaxPooling
from dovetail_aten.families.pooling.kernels.pooling_geometry import pooled_windows
from dovetail_aten.families.pooling.kernels.runs import adaptive_runs
from dovetail_aten.kernel_support.geometry.window_geometry import Window

from .constants import ones_of
from .fast_indexing import pick
from .places_under_windows import Lines, lines_of, lines_of_runs, places_under
from .threads import run_pieces, shared_step

_BITS: Final = {
    numpy.dtype(numpy.float32): numpy.dtype(numpy.int32),
    numpy.dtype(numpy.float64): numpy.dtype(numpy.int64),
}
_MANY: Final = 1 << 13
"""Elements from which blocks pay."""
_BLOCK: Final = 1 << 16
"""Elements at a time."""
_CHEAP: Final = 4
"""How many times as many elements as of others several threads pay for: the steps are short."""
_LARGER: Final = 2
"""How many times as many elements as there are windows one has, from where on it is searched
alone.
"""
_LARGEST_TABLE: Final = 1 << 14
"""Elements of a table that is kept."""
_MOST: Final = 1 << 16
"""Places under a window that the small integers tell apart."""


class FastMaxPooling(MaxPooling):
    """Maxima of small and of large images."""

    def _max_pool(
        self,
        name: str,
        ndim: int,
        x: Any,
        kernel_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        dilation: Sequence[int] = (1,),
        ceil_mode: bool = False,
    ) -> tuple[Any, Any]:
        how = (kernel_size, stride, padding, dilation, ceil_mode)
        windows = pooled_windows(name, ndim, x.shape, *how)
        table = _table_of(windows, x.size) if 0 < x.size < _MANY else None
        made = None if table is None else _under_table(x, ndim, table)
        return MaxPooling._max_pool(self, name, ndim, x, *how) if made is None else made

    def _adaptive(
        self, name: str, ndim: int, x: Any, output_size: Sequence[int]
    ) -> tuple[Any, Any]:
        shape = x.shape
        if 0 < x.size < _MANY and len(output_size) == ndim < x.ndim <= ndim + 2:
            table = _adaptive_table(shape[x.ndim - ndim :], tuple(output_size), x.size)
            made = None if table is None else _under_table(x, ndim, table)
            if made is not None:
                return made
        elif x.size and math.prod(output_size) and len(output_size) == ndim < x.ndim <= ndim + 2:
            sizes = shape[x.ndim - ndim :]
            if math.prod(sizes) >= _LARGER * math.prod(output_size) ** 2:
                made = _window_by_window(x, sizes, output_size)
                if made is not None:
                    return made
        return MaxPooling._adaptive(self, name, ndim, x, output_size)

    def _places_under(self, windows: Sequence[Window]) -> Any:
        """Return where each element of padded images lies in an image, which is kept."""
        return _kept_places(self, tuple(windows))

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
        begins, apart = _as_sums(table.reshape(-1, count))
        table, first = table.reshape(-1), numpy.arange(0, windows * count, count)
        made = numpy.empty((len(images), windows), values.dtype)
        where = numpy.empty((len(images), windows), numpy.int64)
        code = numpy.dtype(numpy.uint8 if count <= 256 else numpy.uint16)
        step = shared_step(max(1, _BLOCK // math.prod(sizes)), len(images), values.size // _CHEAP)

        def compute(begin: int, end: int) -> None:
            for start in range(begin * step, min(end * step, len(images)), step):
                some = slice(start, min(start + step, len(images)))
                best, chosen = self._chosen(images[some], elements, code)
                made[some] = best.reshape(-1, windows)
                if begins is not None:
                    target = where[some]
                    numpy.copyto(target, chosen.reshape(-1, windows))
                    if apart != 1:
                        numpy.multiply(target, apart, out=target)
                    numpy.add(target, begins, out=target)
                    continue
                index = chosen.reshape(-1, windows).astype(numpy.int64)
                numpy.add(index, first, out=index)
                table.take(index, None, where[some], "clip")

        run_pieces(compute, -(-len(images) // step), values.size // _CHEAP)
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
            best = _close(self._taken(values, axis, offsets[0]), values, axis)
            chosen = None if codes is None else self._taken(codes, axis, offsets[0])
            for number, offset in enumerate(offsets[1:], 1):
                value = _close(self._taken(values, axis, offset), values, axis)
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


def _close(part: Any, values: Any, axis: int) -> Any:
    """Return a part of `values`, copied if it leaves out elements along `axis`: it is compared
    twice, and NumPy has vector instructions only for elements side by side.
    """
    return part if part.strides[axis] == values.strides[axis] else numpy.ascontiguousarray(part)


def _as_sums(table: Any) -> tuple[Any, int]:
    """Return the first place under each window, and how far apart the others are, if that is the
    same everywhere, as on lines without padding; None and 0 for others.
    """
    begins, apart = table[:, 0], int(table[0, 1] - table[0, 0]) if table.size else 0
    between = numpy.subtract(table[:, 1:], table[:, :-1])
    return (begins, apart) if numpy.equal(between, apart).all() else (None, 0)


class _Table(NamedTuple):
    """The elements of all windows over images, side by side.

    Attributes
    ----------
    elements
        Where each lies in the images. What a window has beyond its image is its first element
        within once more, which changes neither the maximum nor its place.
    places
        The same within its image.
    begins
        Where the elements of each window begin.
    reach
        Elements of a window.
    numbers
        Windows along each dimension.
    """

    elements: Any
    places: Any
    begins: Any
    reach: int
    numbers: tuple[int, ...]


def _under_table(x: Any, ndim: int, table: _Table) -> tuple[Any, Any] | None:
    """Return the maxima of small images, and their places; None if several may be NaN, of which the
    last one counts.
    """
    elements = x.reshape(-1).take(table.elements)
    chosen = elements.reshape(-1, table.reach).argmax(1)
    chosen += table.begins
    values = elements.take(chosen)
    if values.dtype in _BITS:
        total = values.dot(ones_of(values.size, values.dtype))
        if total != total and numpy.isnan(values).any():
            return None
    shape = (*x.shape[: x.ndim - ndim], *table.numbers)
    return values.reshape(shape), table.places.take(chosen).reshape(shape)


def _window_by_window(
    x: Any, sizes: Sequence[int], output_size: Sequence[int]
) -> tuple[Any, Any] | None:
    """Return the maxima of few large windows, and their places; None if several may be NaN."""
    images = x.reshape(-1, *sizes)
    values = numpy.empty((len(images), math.prod(output_size)), x.dtype)
    places = numpy.empty(values.shape, numpy.int64)
    runs = [adaptive_runs(*pair) for pair in zip(sizes, output_size, strict=True)]
    windows = product(*[list(map(slice, each.starts, each.stops)) for each in runs])
    every = numpy.arange(math.prod(sizes)).reshape(sizes)
    for number, window in enumerate(windows):
        elements = images[(slice(None), *window)].reshape(len(images), -1)
        chosen = elements.argmax(1)
        values[:, number] = pick(elements, chosen[:, None])[:, 0]
        places[:, number] = every[window].reshape(-1)[chosen]
    if values.dtype in _BITS and numpy.isnan(values).any():
        return None
    shape = (*x.shape[: x.ndim - len(sizes)], *output_size)
    return values.reshape(shape), places.reshape(shape)


@lru_cache(32)
def _kept_places(family: FastMaxPooling, windows: tuple[Window, ...]) -> Any:
    """Return where each element of padded images lies in an image."""
    return MaxPooling._places_under(family, windows)


@lru_cache(64)
def _table_of(windows: tuple[Window, ...], size: int) -> _Table | None:
    """Return the table for windows over images of `size` elements together."""
    return _table([lines_of(each) for each in windows], size)


@lru_cache(64)
def _adaptive_table(sizes: tuple[int, ...], numbers: tuple[int, ...], size: int) -> _Table | None:
    """Return the same for nearly equal windows; None too if there are none."""
    if min(*numbers, *sizes) < 1:
        return None
    runs = [adaptive_runs(*pair) for pair in zip(sizes, numbers, strict=True)]
    return _table([lines_of_runs(each) for each in runs], size)


def _table(lines: Sequence[Lines], size: int) -> _Table | None:
    """Return the table for windows along each dimension; None where it would be large, or a window
    has no element of an image.
    """
    pixels = math.prod([each.size for each in lines])
    images = size // pixels
    found = places_under(lines, _LARGEST_TABLE // images)
    if found is None or not found[1].any(1).all():
        return None
    places, within = found
    number, count = places.shape
    first = numpy.take_along_axis(places, within.argmax(1)[:, None], 1)
    places = numpy.where(within, places, first).reshape(-1)
    return _Table(
        (numpy.arange(images)[:, None] * pixels + places).reshape(-1),
        numpy.tile(places, images),
        numpy.arange(0, images * number * count, count),
        count,
        tuple([len(each.places) for each in lines]),
    )


def _greater(value: Any, best: Any) -> Any:
    """Return the greater of elements, and of equal ones `best`: 0 and -0 are equal."""
    made = numpy.maximum(value, best)
    zeros = numpy.equal(made, 0)
    return numpy.where(zeros, numpy.where(numpy.greater(value, best), value, best), made)
