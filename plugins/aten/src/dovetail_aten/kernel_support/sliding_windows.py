"""Slices of arrays by windows, and their adjoint: what convolutions and pooling are made of."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any

from ..typing import Array, Scalar
from .family import Family
from .geometry.window_geometry import Window

_ALL = slice(None)


class SlidingWindows(Family):
    """Elements of windows over the last dimensions of an array, one `Window` for each of them."""

    def _padded(self, x: Array, windows: Sequence[Window], fill: Scalar = 0) -> Any:
        """Return `x` with as much of `fill` around it as the windows reach beyond it."""
        lead = x.ndim - len(windows)
        shape = (*x.shape[:lead], *[window.padded for window in windows])
        if shape == x.shape:
            return x
        inner = [slice(window.padding, window.padding + window.size) for window in windows]
        return self.capabilities.embed(x, shape, (*(_ALL,) * lead, *inner), fill)

    def _slices(self, padded: Array, windows: Sequence[Window]) -> Iterator[Any]:
        """Yield the elements at each place of the windows, the last dimension fastest."""
        for offsets in product(*[range(window.kernel) for window in windows]):
            inside = [window.at(offset) for window, offset in zip(windows, offsets, strict=True)]
            yield padded[(..., *inside)]

    def _patches(self, x: Array, windows: Sequence[Window], axis: int) -> Any:
        """Return the elements of all windows, their places side by side along a new dimension
        `axis` that lies before the windows' own.
        """
        places = list(self._slices(self._padded(x, windows), windows))
        if len(places) == 1:
            return self.xp.expand_dims(places[0], axis=axis)
        return self.xp.stack(places, axis=axis)

    def _folded(self, parts: Iterable[Any], windows: Sequence[Window]) -> Any:
        """Return lines where every element is the sum of what the windows over it hold.

        Parameters
        ----------
        parts
            ``(..., *counts)`` for each place of the windows, in the order of `_slices`.
        """
        shape = tuple([window.padded for window in windows])
        every = self.xp.reshape(self.xp.arange(math.prod(shape)), shape)
        index = self.xp.reshape(
            self._patches(every, [_inside(window) for window in windows], 0), (-1,)
        )
        patches = self.xp.stack(list(parts), axis=-len(windows) - 1)
        lead = patches.shape[: patches.ndim - len(windows) - 1]
        flat = self.xp.reshape(patches, (*lead, math.prod(patches.shape[len(lead) :])))
        zeros = self.xp.zeros((*lead, math.prod(shape)), dtype=patches.dtype)
        summed = self.capabilities.index_add(zeros, len(lead), index, flat)
        return self._without_padding(self.xp.reshape(summed, (*lead, *shape)), windows)

    def _without_padding(self, padded: Array, windows: Sequence[Window]) -> Any:
        """Return the lines themselves out of padded ones."""
        inner = [slice(window.padding, window.padding + window.size) for window in windows]
        return padded[(..., *inner)]


def _inside(window: Window) -> Window:
    """Return the same windows over a line that is padded already."""
    return window._replace(size=window.padded, padding=0)
