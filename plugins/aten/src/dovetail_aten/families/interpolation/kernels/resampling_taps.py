"""What resampling takes along one dimension: which elements for every place of the result, and how
much of each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dovetail_kernel import float32, int64
from dovetail_kernel.typing import NativeDtype

from ....kernel_support.dims import check_room
from ....kernel_support.family import Family
from ....typing import Array, Namespace

_CUBIC = -0.75
"""Slope parameter of the cubic convolution (R. Keys, 1981), as PyTorch has it."""
_SMOOTH_CUBIC = -0.5
"""The same where the image is smoothed before it shrinks."""


class Taps(NamedTuple):
    """What each place of a result takes along one dimension.

    Attributes
    ----------
    indices
        Arrays of the places that are taken, one array per tap, as long as the result.
    weights
        By what they are multiplied, in the same order; None takes the only tap as it is.
    """

    indices: Sequence[Any]
    weights: Sequence[Any] | None


TapsOf = Callable[[int, int, int, Any], Taps]
"""Taps of the dimension of a number, for a size, the length of the result, and a dtype."""


class ResamplingTaps(Family):
    """The taps of each way to resample."""

    def nearest_taps(self, scales: Sequence[float | None], shift: float) -> TapsOf:
        def taps(place: int, size: int, length: int, dtype: NativeDtype) -> Taps:
            step = _step(size, length, _scale(scales, place))
            single = self.native_dtypes[float32]
            places = self.xp.arange(length, dtype=single)
            moved = self.xp.add(places, self.number(shift, single)) if shift else places
            found = self.xp.floor(self.xp.multiply(moved, self.number(step, single)))
            return Taps([self._clipped(found, size)], None)

        return taps

    def linear_taps(self, align_corners: bool, scales: Sequence[float | None]) -> TapsOf:
        def taps(place: int, size: int, length: int, dtype: NativeDtype) -> Taps:
            xp = self.xp
            source = self._source(align_corners, size, length, _scale(scales, place), dtype)
            source = xp.maximum(source, self.number(0.0, dtype))
            low = xp.minimum(xp.floor(source), self.number(size - 1, dtype))
            after = xp.minimum(xp.subtract(source, low), self.number(1.0, dtype))
            before = xp.subtract(self.number(1.0, dtype), after)
            index = self._clipped(low, size)
            following = self._clipped(xp.add(low, self.number(1.0, dtype)), size)
            return Taps([index, following], [before, after])

        return taps

    def cubic_taps(self, align_corners: bool, scales: Sequence[float | None]) -> TapsOf:
        def taps(place: int, size: int, length: int, dtype: NativeDtype) -> Taps:
            xp = self.xp
            source = self._source(align_corners, size, length, _scale(scales, place), dtype)
            low = xp.floor(source)
            after = xp.subtract(source, low)
            offsets = [-1.0, 0.0, 1.0, 2.0]
            indices = [
                self._clipped(xp.add(low, self.number(each, dtype)), size) for each in offsets
            ]
            weights = [
                _cubic(xp.absolute(xp.subtract(after, self.number(each, dtype))), xp, _CUBIC)
                for each in offsets
            ]
            return Taps(indices, weights)

        return taps

    def antialiased_taps(
        self,
        align_corners: bool,
        scales: Sequence[float | None],
        reach: int,
        bell: Callable[..., object],
    ) -> TapsOf:
        """Return taps over all elements under a bell curve, which is as wide as `reach` elements of
        the image given, or of the result if that is smaller.
        """

        def taps(place: int, size: int, length: int, dtype: NativeDtype) -> Taps:
            xp = self.xp
            step = _step(size, length, _scale(scales, place), align_corners)
            width = max(step, 1.0)
            support = reach * width
            half = self.number(0.5, dtype)
            places = xp.arange(length, dtype=dtype)
            centers = xp.multiply(xp.add(places, half), self.number(step, dtype))
            zero, last = self.number(0.0, dtype), self.number(size, dtype)
            first = xp.trunc(xp.subtract(centers, self.number(support - 0.5, dtype)))
            first = xp.maximum(first, zero)
            stop = xp.trunc(xp.add(centers, self.number(support + 0.5, dtype)))
            stop = xp.minimum(stop, last)
            count = 2 * math.ceil(support) + 1
            check_room(count * length, 2 * dtype.itemsize)
            indices, weights = [], []
            for number in range(count):
                taken = xp.add(first, self.number(float(number), dtype))
                distance = xp.add(xp.subtract(taken, centers), half)
                weight = bell(xp.multiply(distance, self.number(1.0 / width, dtype)), xp)
                weights.append(xp.where(xp.less(taken, stop), weight, zero))
                indices.append(self._clipped(xp.minimum(taken, xp.subtract(stop, half)), size))
            total = sum(weights[1:], start=weights[0])
            return Taps(indices, [xp.true_divide(each, total) for each in weights])

        return taps

    def _source(
        self, align_corners: bool, size: int, length: int, scale: float | None, dtype: NativeDtype
    ) -> Any:
        """Return where in the image given the places of the result lie."""
        xp = self.xp
        step = self.number(_step(size, length, scale, align_corners), dtype)
        places = xp.arange(length, dtype=dtype)
        if align_corners:
            return xp.multiply(places, step)
        half = self.number(0.5, dtype)
        return xp.subtract(xp.multiply(xp.add(places, half), step), half)

    def number(self, value: float, dtype: NativeDtype) -> Any:
        return self.capabilities.number(value, dtype)

    def _clipped(self, places: Array, size: int) -> Any:
        """Return places as indices within the image."""
        xp, wide = self.xp, self.native_dtypes[int64]
        index = places.astype(wide)
        low, high = self.number(0, wide), self.number(size - 1, wide)
        return xp.minimum(xp.maximum(index, low), high)


def _scale(scales: Sequence[float | None], place: int) -> float | None:
    """Return the factor of a dimension; there are none where they have their defaults."""
    return scales[place] if scales else None


def _step(size: int, length: int, scale: float | None, align_corners: bool = False) -> float:
    """Return how far apart the places of the result lie in the image given."""
    if align_corners:
        return (size - 1) / (length - 1) if length > 1 else 0.0
    return 1.0 / scale if scale is not None and scale > 0 else size / length


def tent(distance: Array, xp: Namespace) -> Any:
    """Return ``max(1 - |distance|, 0)``."""
    return xp.maximum(1 - xp.absolute(distance), distance * 0)


def cubic_around(distance: object, xp: Namespace) -> Any:
    return _cubic(xp.absolute(distance), xp, _SMOOTH_CUBIC)


def _cubic(x: Array, xp: Namespace, a: float) -> Any:
    """Return the cubic convolution kernel at distances of 0 to 2 and beyond."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return xp.where(xp.less(x, 1), near, xp.where(xp.less(x, 2), far, x * 0))
