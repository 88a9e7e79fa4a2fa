"""Resampling of images by taps that are kept for sizes that occur again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, Final

import numpy

from dovetail_aten.families import Taps, TapsOf, Upsampling, check_upsampled
from dovetail_aten.kernel_support import widened

_FEW: Final = 1 << 12
"""Elements that are taken along a dimension, up to which they are taken in one call."""
_add: Final = numpy.add.reduce


class FastUpsampling(Upsampling):
    """Images of another size."""

    def nearest_taps(self, scales: Sequence[float | None], shift: float) -> TapsOf:
        return partial(_kept_taps, self, "nearest_taps", (scales, shift))

    def linear_taps(self, align_corners: bool, scales: Sequence[float | None]) -> TapsOf:
        return partial(_kept_taps, self, "linear_taps", (align_corners, scales))

    def cubic_taps(self, align_corners: bool, scales: Sequence[float | None]) -> TapsOf:
        return partial(_kept_taps, self, "cubic_taps", (align_corners, scales))

    def antialiased_taps(self, *details: Any) -> TapsOf:
        """Return taps over all elements under a bell curve."""
        return partial(_kept_taps, self, "antialiased_taps", details)

    @widened
    def _resampled(self, x: Any, output_size: Sequence[int], taps: TapsOf) -> Any:
        shape = x.shape
        check_upsampled(shape, output_size)
        wide = self._wide(x)
        axis = x.ndim
        for place in reversed(range(len(output_size))):
            axis -= 1
            chosen = taps(place, shape[axis], output_size[place], wide)
            x = self._summed(x, axis, chosen)
        return self.ordered(x)

    def _summed(self, x: Any, axis: int, taps: Taps) -> Any:
        """Return the sum of taps: of few elements by one call for all of them."""
        indices: Any = taps.indices
        count, length = indices.shape
        if taps.weights is None:
            return x.take(indices[0], axis)
        # From eight on NumPy adds in another order.
        if count >= 8 or x.size * count * length > _FEW * x.shape[axis]:
            return Upsampling._summed(self, x, axis, taps)
        weights: Any = taps.weights
        if weights.dtype != x.dtype:
            weights = weights.astype(x.dtype)
        if behind := x.ndim - 1 - axis:
            weights = weights.reshape(count, length, *(1,) * behind)
        found = x.take(indices, axis)
        numpy.multiply(found, weights, found)
        return _add(found, axis)


@lru_cache(128)
def _kept_taps(
    family: FastUpsampling,
    kind: str,
    details: tuple[Any, ...],
    place: int,
    size: int,
    length: int,
    dtype: Any,
) -> Taps:
    """Return taps of a kind, each an array of a row for each tap."""
    made = getattr(Upsampling, kind)(family, *details)(place, size, length, dtype)
    indices: Any = numpy.stack(made.indices)
    weights: Any = None if made.weights is None else numpy.stack(made.weights)
    return Taps(indices, weights)
