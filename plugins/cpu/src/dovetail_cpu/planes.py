"""Patches whose windows are starts in flat memory.

A padded image is one line. From another start on it shows what lies under another place of the
window, for all windows at once, with what lies between the rows of windows besides. So a patch is
copied, or added, in long lines. Of strides greater than 1 the elements of one remainder lie
together, as a plane of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import numpy

from dovetail_aten.kernel_support.geometry.window_geometry import Window

from .products import matmul

_ALL = slice(None)


class Planes:
    """The geometry of planes for some windows.

    Parameters
    ----------
    windows
        One for each of the last dimensions.
    """

    def __init__(self, windows: Sequence[Window]) -> None:
        self._windows = windows
        self._strides = [window.stride for window in windows]
        self.counts = [window.number for window in windows]
        # Windows and what they reach beyond, in elements of one remainder.
        self.extent = [
            window.number + (window.kernel - 1) * window.dilation // window.stride
            for window in windows
        ]
        self.size = math.prod(self.extent) * math.prod(self._strides)
        steps = [math.prod(self.extent[dim + 1 :]) for dim in range(len(windows))]
        self.length = 1 + sum(
            [(count - 1) * step for count, step in zip(self.counts, steps, strict=True)]
        )
        self.starts = []
        for place in product(*[range(window.kernel) for window in windows]):
            parts = [
                divmod(at * window.dilation, window.stride)
                for at, window in zip(place, windows, strict=True)
            ]
            plane = 0
            for (_, remainder), stride in zip(parts, self._strides, strict=True):
                plane = plane * stride + remainder
            start = sum([line * step for (line, _), step in zip(parts, steps, strict=True)])
            self.starts.append((plane, start))

    def _of(self, x: Any) -> Any:
        """Return the planes of ``(..., *sizes)`` as ``(..., planes, elements)``."""
        lead = x.shape[: x.ndim - len(self._windows)]
        made: Any = numpy.zeros((*lead, *self._strides, *self.extent), x.dtype)
        for to, of in self._spans(len(lead)):
            made[to] = x[of]
        return made.reshape(*lead, math.prod(self._strides), math.prod(self.extent))

    def _spans(self, lead: int) -> Iterator[tuple[Any, Any]]:
        """Yield where in ``(..., *remainders, *extent)`` the elements of each plane go, and where
        in ``(..., *sizes)`` they are.
        """
        before = (_ALL,) * lead
        for remainders in product(*map(range, self._strides)):
            spans = [
                window_span(*each)
                for each in zip(self._windows, remainders, self.extent, strict=True)
            ]
            yield (
                (*before, *remainders, *[to for to, _ in spans]),
                (*before, *[of for _, of in spans]),
            )

    def patches(self, x: Any) -> Any:
        """Return the patches of ``(images, groups, channels, *sizes)`` as ``(images, groups,
        channels * places, elements)``, with something between the rows of windows.
        """
        planes = self._of(x)
        made = numpy.empty((*x.shape[:3], len(self.starts), self.length), x.dtype)
        for place, (plane, start) in enumerate(self.starts):
            made[:, :, :, place] = planes[:, :, :, plane, start : start + self.length]
        return made.reshape(*x.shape[:2], x.shape[2] * len(self.starts), self.length)

    def spaced(self, y: Any) -> Any:
        """Return ``(..., windows)`` as ``(..., elements)``, with zeros between their rows."""
        lead = y.shape[:-1]
        made = numpy.zeros((*lead, *self.extent), y.dtype)
        self._inside(made)[...] = y.reshape(*lead, *self.counts)
        return made.reshape(*lead, -1)[..., : self.length]

    def _inside(self, elements: Any) -> Any:
        return elements[(..., *[slice(count) for count in self.counts])]

    def correlate(self, x: Any, weight: Any, out: Any) -> None:
        """Write the products of ``(groups, rows, channels * places)`` with the patches of
        ``(images, groups, channels, *sizes)`` into ``(images, groups, rows, windows)``.
        """
        made = numpy.empty((*out.shape[:3], math.prod(self.extent)), x.dtype)
        matmul(weight, self.patches(x), out=made[..., : self.length])
        lead = out.shape[:3]
        found = self._inside(made.reshape(*lead, *self.extent))
        out.reshape(*lead, *self.counts)[...] = found

    def weigh(self, x: Any, y: Any) -> Any:
        """Return the sums over images of the products of ``(images, groups, rows, windows)`` with
        the turned patches of ``(images, groups, channels, *sizes)``. Between the rows of windows
        `x` is multiplied by 0.
        """
        made = matmul(self.spaced(y), self.patches(x).swapaxes(-1, -2))
        return made[0] if len(made) == 1 else numpy.add.reduce(made, 0)

    def spread(self, y: Any, weight: Any, out: Any) -> None:
        """Write into ``(images, groups, channels, *sizes)`` the sums of what the windows over each
        element hold: the products of the turned ``(groups, rows, channels * places)`` with
        ``(images, groups, rows, windows)``.
        """
        lead = out.shape[:3]
        parts = matmul(weight.swapaxes(-1, -2), self.spaced(y))
        parts = parts.reshape(*lead, len(self.starts), self.length)
        planes = numpy.zeros((*lead, math.prod(self._strides), math.prod(self.extent)), y.dtype)
        for place, (plane, start) in enumerate(self.starts):
            target = planes[:, :, :, plane, start : start + self.length]
            numpy.add(target, parts[:, :, :, place], out=target)
        planes = planes.reshape(*lead, *self._strides, *self.extent)
        covered = [
            w.stride * e - w.padding for w, e in zip(self._windows, self.extent, strict=True)
        ]
        if any([reach < w.size for reach, w in zip(covered, self._windows, strict=True)]):
            out[...] = 0
        for of, to in self._spans(3):
            out[to] = planes[of]


@lru_cache(64)
def planes_over(windows: tuple[Window, ...]) -> Planes:
    """Return the geometry of planes for some windows: a network has few of them."""
    return Planes(windows)


def window_span(window: Window, start: int, count: int) -> tuple[slice, slice]:
    """Return which of `count` elements of a padded line, from `start` on in steps of the stride,
    lie in the line itself, and where.
    """
    step, before = window.stride, start - window.padding
    least = max(0, -(before // step))
    greatest = min(count, (window.size - 1 - before) // step + 1)
    if greatest <= least:
        return slice(0, 0), slice(0, 0)
    return (
        slice(least, greatest),
        slice(before + least * step, before + (greatest - 1) * step + 1, step),
    )
