"""Convolutions without patches for every place of the window, a few images at a time.

Patches hold each element as often as the window has places. Here they are made of all dimensions
but the first: along that one, what lies under another place of the window is the same memory from
another start on, so that there is one product for each of these starts. Of a stride greater than 1
the lines of one remainder lie together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, Final, NamedTuple

import numpy

from dovetail_aten.families.convolution.kernels.convolution import Convolutions
from dovetail_aten.kernel_support.geometry.window_geometry import Window

from .fast_windows import FastWindows
from .gathered_patches import FEW_FOLDED, folded_patches, gathered_patches
from .planes import planes_over, window_span
from .products import matmul
from .silence import row_by_row
from .threads import SHARED_FROM, run_pieces, shared_step

_ELEMENTS: Final = 1 << 18
"""How many elements of patches are made at a time: they stay in the cache."""
_SUMS: Final = 4
"""Into how many sums a gradient that several threads may share is parted, at least."""
_NARROW: Final = 24
"""Rows of patches below which a product is not worth a start of its own."""
_WIDER: Final = 4
"""How many times as many channels of a gradient than of an image are copied rather than added."""
_ALL: Final = slice(None)


class Lines(NamedTuple):
    """Patches of all dimensions but the first, and where each place along that one begins.

    Attributes
    ----------
    array
        ``(images, groups, channels * inner places, remainders, lines * inner windows)``.
    starts
        For each place along the first dimension the remainder and the first element.
    length
        How many elements from there on.
    """

    array: Any
    starts: list[tuple[int, int]]
    length: int

    def under(self, place: int) -> Any:
        """Return what lies under a place along the first dimension, as matrices."""
        remainder, start = self.starts[place]
        return self.array[:, :, :, remainder, start : start + self.length]


class FastConvolutions(FastWindows, Convolutions):
    """Convolutions by few products over little memory."""

    def _convolved(
        self,
        input: Any,
        weight: Any,
        bias: Any,
        windows: Sequence[Window],
        transposed: bool,
        groups: int,
    ) -> Any:
        if bias is None or bias.dtype in self.precision.halves:
            return Convolutions._convolved(self, input, weight, bias, windows, transposed, groups)
        made = Convolutions._convolved(self, input, weight, None, windows, transposed, groups)
        _add_to_channels(made, bias.reshape(-1, *[1] * len(windows)))
        return made

    def _correlated(self, x: Any, weight: Any, windows: Sequence[Window], groups: int) -> Any:
        """Return ``(images, channels out, *counts)``."""
        images, channels, rows = x.shape[0], x.shape[1] // groups, weight.shape[0] // groups
        counts = [window.number for window in windows]
        places = math.prod([window.kernel for window in windows])
        made = numpy.empty((images, groups, rows, math.prod(counts)), x.dtype)
        if not made.size:
            return Convolutions._correlated(self, x, weight, windows, groups)
        patches = gathered_patches(x, groups, tuple(windows))
        if patches is not None:
            matmul(weight.reshape(groups, rows, channels * places), patches, made)
            return made.reshape(images, groups * rows, *counts)
        parted = x.reshape(images, groups, channels, *x.shape[2:])
        # Sums over places are read and written as often as patches are copied.
        saved = channels * (places - places // windows[0].kernel)
        if 2 * (windows[0].kernel - 1) * rows > saved or channels * places < _NARROW:
            planes, matrices = (
                planes_over(tuple(windows)),
                weight.reshape(groups, rows, channels * places),
            )

            def compute(start: int, stop: int) -> None:
                planes.correlate(parted[start:stop], matrices, made[start:stop])

            self._by_images(images, groups * channels * places * planes.length, compute)
        else:
            factors = _factors(weight, groups, windows)

            def compute(start: int, stop: int) -> None:
                lines = _lines(parted[start:stop], windows)
                out = matmul(factors[0], lines.under(0), out=made[start:stop])
                for place, factor in enumerate(factors[1:], 1):
                    numpy.add(out, matmul(factor, lines.under(place)), out=out)

            self._by_images(images, groups * channels * _elements(windows), compute)
        return made.reshape(images, groups * rows, *counts)

    def _spread(self, y: Any, weight: Any, windows: Sequence[Window], groups: int) -> Any:
        """Return ``(images, channels in, *sizes)``."""
        images, channels, rows = y.shape[0], weight.shape[1], weight.shape[0] // groups
        places = math.prod([window.kernel * window.number for window in windows])
        if y.size and 0 < images * groups * channels * places <= FEW_FOLDED:
            matrices = weight.reshape(groups, rows, -1).swapaxes(1, 2)
            columns = matmul(matrices, y.reshape(images, groups, rows, -1))
            made = folded_patches(columns, images * groups, channels, tuple(windows))
            return made.reshape(images, groups * channels, *made.shape[2:])
        # Between and beyond the images there are zeros, which are none times infinity.
        if not y.size or not channels or not numpy.isfinite(weight).all():
            return Convolutions._spread(self, y, weight, windows, groups)
        kernel, turned = weight.shape[2:], _turned_windows(windows)
        if turned is not None and rows <= _WIDER * channels:
            flipped = weight.reshape(groups, rows, channels, *kernel).swapaxes(1, 2)
            flipped = flipped[(..., *[slice(None, None, -1)] * len(kernel))]
            return self._correlated(
                y, flipped.reshape(groups * channels, rows, *kernel), turned, groups
            )
        planes, sizes = planes_over(tuple(windows)), [window.size for window in windows]
        matrices = weight.reshape(groups, rows, channels * math.prod(kernel))
        results = y.reshape(images, groups, rows, math.prod(planes.counts))
        made = numpy.empty((images, groups, channels, *sizes), y.dtype)

        def compute(start: int, stop: int) -> None:
            planes.spread(results[start:stop], matrices, made[start:stop])

        self._by_images(images, groups * channels * math.prod(kernel) * planes.length, compute)
        return made.reshape(images, groups * channels, *sizes)

    def _weighed(self, x: Any, y: Any, windows: Sequence[Window], groups: int) -> Any:
        """Return ``(groups, channels out of a group, channels in of a group * places)``."""
        images, channels, rows = x.shape[0], x.shape[1] // groups, y.shape[1] // groups
        places = math.prod([window.kernel for window in windows])
        columns = math.prod([window.number for window in windows])
        parted = x.reshape(images, groups, channels, *x.shape[2:])
        results = y.reshape(images, groups, rows, columns)
        if not x.size or not y.size:
            return Convolutions._weighed(self, x, y, windows, groups)
        patches = gathered_patches(x, groups, tuple(windows))
        if patches is not None:
            made = matmul(results, patches.swapaxes(-1, -2))
            return made[0] if len(made) == 1 else numpy.add.reduce(made, 0)
        if rows > columns and channels * groups > 1:
            return Convolutions._weighed(self, x, y, windows, groups)
        if channels * places // windows[0].kernel < _NARROW:
            total = self._weighed_by_planes(parted, results, windows)
            # What is not finite has been multiplied by the zeros between the windows.
            if numpy.isfinite(total).all():
                return total
            return Convolutions._weighed(self, x, y, windows, groups)
        inner = places // windows[0].kernel
        starts = windows[0].kernel
        step = _step_of_sums(images, groups * channels * _elements(windows))
        pieces = -(-images // step)
        sums: list[Any] = [None] * pieces

        def compute(first: int, last: int) -> None:
            for piece in range(first, last):
                some = slice(piece * step, piece * step + step)
                lines, y_some = _lines(parted[some], windows), results[some]
                made = numpy.empty((groups, rows, channels, starts, inner), y.dtype)
                for place in range(starts):
                    each = matmul(y_some, lines.under(place).swapaxes(-1, -2))
                    each = each[0] if len(each) == 1 else numpy.add.reduce(each, 0)
                    made[:, :, :, place] = each.reshape(groups, rows, channels, inner)
                sums[piece] = made

        run_pieces(compute, pieces, images * groups * channels * _elements(windows))
        return _total(sums).reshape(groups, rows, channels * places)

    def _weighed_by_planes(self, x: Any, y: Any, windows: Sequence[Window]) -> Any:
        """Return ``(groups, channels out of a group, channels in of a group * places)``."""
        planes, images = planes_over(tuple(windows)), len(x)
        elements = math.prod(x.shape[1:3]) * len(planes.starts) * planes.length
        step = _step_of_sums(images, elements)
        sums: list[Any] = [None] * -(-images // step)

        def compute(first: int, last: int) -> None:
            for piece in range(first, last):
                some = slice(piece * step, piece * step + step)
                sums[piece] = planes.weigh(x[some], y[some])

        run_pieces(compute, len(sums), images * elements)
        return _total(sums)

    def _by_images(self, images: int, elements: int, compute: Callable[[int, int], None]) -> None:
        """Call ``compute(start, stop)`` for as many images at a time as have some `elements`."""
        step = shared_step(max(1, _ELEMENTS // max(1, elements)), images, images * elements)

        def some(first: int, last: int) -> None:
            for start in range(first * step, min(last * step, images), step):
                compute(start, min(start + step, images))

        run_pieces(some, -(-images // step), images * elements)


@row_by_row
def _add_to_channels(images: Any, bias: Any) -> None:
    numpy.add(images, bias, out=images)


def _step_of_sums(images: int, elements: int) -> int:
    """Return over how many images, of so many `elements` each, a gradient is summed at a time: the
    same for any number of threads, and so the sum.
    """
    step = max(1, _ELEMENTS // max(1, elements))
    return min(step, -(-images // _SUMS)) if images * elements >= SHARED_FROM else step


def _total(sums: Sequence[Any]) -> Any:
    """Return the sum of arrays, written over the first."""
    total = sums[0]
    for each in sums[1:]:
        numpy.add(total, each, out=total)
    return total


def _turned_windows(windows: Sequence[Window]) -> list[Window] | None:
    """Return the windows over results whose correlation with the flipped weight spreads them; None
    if there are none.
    """
    turned = []
    for window in windows:
        padding = window.dilation * (window.kernel - 1) - window.padding
        if window.stride != 1 or padding < 0:
            return None
        turned.append(window._replace(size=window.number, number=window.size, padding=padding))
    return turned


def _factors(weight: Any, groups: int, windows: Sequence[Window]) -> list[Any]:
    """Return the weight as matrices of a group, for each place along the first dimension."""
    starts = windows[0].kernel
    inner = math.prod([window.kernel for window in windows[1:]])
    rows, channels = weight.shape[0] // groups, weight.shape[1]
    parted = weight.reshape(groups, rows, channels, starts, inner)
    return [
        parted[:, :, :, place].reshape(groups, rows, channels * inner) for place in range(starts)
    ]


def _elements(windows: Sequence[Window]) -> int:
    """Return how many elements the lines of one channel have."""
    first, *inner = windows
    lines = first.number * first.stride + (first.kernel - 1) * first.dilation
    return lines * math.prod([window.kernel * window.number for window in inner])


def _lines(x: Any, windows: Sequence[Window]) -> Lines:
    """Return the lines of ``(images, groups, channels, *sizes)``."""
    first, *inner = windows
    offsets = [divmod(place * first.dilation, first.stride) for place in range(first.kernel)]
    remainders = sorted({remainder for _, remainder in offsets})
    within = math.prod([window.number for window in inner])
    starts = [(remainders.index(remainder), line * within) for line, remainder in offsets]
    number = first.number + max(line for line, _ in offsets)
    length = first.number * within
    if all([each.kernel == each.stride == 1 and not each.padding for each in windows]):
        return Lines(x.reshape(*x.shape[:3], 1, length), starts, length)
    shape = (
        *x.shape[:3],
        *[window.kernel for window in inner],
        len(remainders),
        number,
        *[window.number for window in inner],
    )
    is_padded = any([window.padding for window in windows])
    made: Any = (numpy.zeros if is_padded else numpy.empty)(shape, x.dtype)
    for place in product(*[range(window.kernel) for window in inner]):
        spans = [
            window_span(window, at * window.dilation, window.number)
            for window, at in zip(inner, place, strict=True)
        ]
        for index, remainder in enumerate(remainders):
            to, of = window_span(first, remainder, number)
            made[(_ALL, _ALL, _ALL, *place, index, to, *[each for each, _ in spans])] = x[
                (_ALL, _ALL, _ALL, of, *[each for _, each in spans])
            ]
    channels = x.shape[2] * math.prod([window.kernel for window in inner])
    return Lines(
        made.reshape(*x.shape[:2], channels, len(remainders), number * within), starts, length
    )
