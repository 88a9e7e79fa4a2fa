"""Convolutions by compiled kernels, or by the products of patches of a few images at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy
import numpy as np

from dovetail_aten.families import Convolutions
from dovetail_aten.kernel_support import Window, has_channels_last, widened

from ..parallel.threads import SHARED_FROM, run_pieces

_ELEMENTS: Final = 1 << 22
"""How many elements of patches the reference makes at a time, where an image has fewer."""
_PIECES: Final = 8
"""Into how many pieces, which threads share, images are parted at most for sums over them: the same
for any number of threads, and so are the sums.
"""
_WINDOWS: Final = 1 << 11
"""How many windows such a piece has at least: compiled code sums over several images at once."""


class FastConvolutions(Convolutions):
    """Convolutions whose images are shared by threads; those that no window mixes are products."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        compiled = self.capabilities.compiled
        results = partial(_write_results, super()._correlated)
        self._write_results = compiled("convolution_direct", results)
        apart = partial(_write_last, super()._correlated)
        self._write_apart = compiled("convolution_direct.last", apart)
        images = partial(_write_results, super()._spread)
        self._write_images = compiled("convolution_direct.input", images)
        weights = partial(_add_weights, super()._weighed)
        self._write_weights = compiled("convolution_direct.weight", weights)

    @widened
    def _convolved(
        self,
        input: np.ndarray,
        weight: np.ndarray,
        bias: np.ndarray | None,
        windows: Sequence[Window],
        transposed: bool,
        groups: int,
    ) -> Any:
        if not transposed:
            return self._correlated(input, weight, windows, groups, bias)
        return _with_bias(self._spread(input, weight, windows, groups), bias)

    def _correlated(
        self,
        x: np.ndarray,
        weight: np.ndarray,
        windows: Sequence[Window],
        groups: int,
        bias: np.ndarray | None = None,
    ) -> Any:
        rows, counts = weight.shape[0], [window.number for window in windows]
        if _are_patches(windows):
            matrices = self._matrices_of_weight(weight, groups)
            return _with_bias(self._mixed(x, matrices).reshape(len(x), rows, *counts), bias)
        if any([has_channels_last(each.shape, each.strides) for each in (x, weight)]):
            made, last = numpy.empty((len(x), *counts, rows), x.dtype), np.moveaxis(x, 1, -1)
            results, weight = np.moveaxis(made, -1, 1), numpy.ascontiguousarray(weight)
            if weight.shape[:2] == (groups, 1) and last.flags.c_contiguous:
                self._by_images(self._write_apart, made, last, weight, windows, groups, bias)
            else:
                self._by_images(self._write_results, results, x, weight, windows, groups, bias)
            return results
        made = numpy.empty((len(x), rows, *counts), x.dtype)
        self._by_images(self._write_results, made, x, weight, windows, groups, bias)
        return made

    def _spread(self, y: Any, weight: Any, windows: Sequence[Window], groups: int) -> Any:
        channels, sizes = groups * weight.shape[1], [window.size for window in windows]
        if _are_patches(windows):
            matrices = self._matrices_of_weight(weight, groups).swapaxes(1, 2)
            return self._mixed(y, matrices).reshape(len(y), channels, *sizes)
        made = numpy.zeros((len(y), channels, *sizes), y.dtype)
        self._by_images(self._write_images, made, y, weight, windows, groups)
        return made

    def _mixed(self, x: np.ndarray, matrices: np.ndarray) -> Any:
        """Return the products of the matrix of each group and the channels of images: one product
        for all images whose channels come last in memory, where the result has its own last.
        """
        last = _channels_last(x)
        if last is None or len(matrices) > 1:
            return self.xp.matmul(matrices, self._matrices_of_channels(x, len(matrices)))
        made = self.xp.matmul(last.reshape(-1, last.shape[-1]), matrices[0].T)
        return np.moveaxis(made.reshape(*last.shape[:-1], -1), -1, 1)

    def _by_images(
        self,
        write: Callable[..., object],
        made: np.ndarray,
        one: np.ndarray,
        weight: np.ndarray,
        windows: Sequence[Window],
        groups: int,
        bias: np.ndarray | None = None,
    ) -> None:
        windows, work = tuple(windows), _products(weight, windows) * len(made)

        def some(first: int, last: int) -> None:
            write(made[first:last], one[first:last], weight, windows, groups, bias)

        if work < SHARED_FROM:
            write(made, one, weight, windows, groups, bias)
        else:
            run_pieces(some, len(made), work)

    def _weighed(self, x: np.ndarray, y: np.ndarray, windows: Sequence[Window], groups: int) -> Any:
        rows, depth = y.shape[1], x.shape[1] // groups
        pieces = min(_PIECES, len(x), max(len(x) * _count(windows) // _WINDOWS, 1))
        shape = (rows, depth, *[window.kernel for window in windows])
        sums = numpy.zeros((max(pieces, 1), *shape), y.dtype)

        def some(first: int, last: int) -> None:
            for piece in range(first, last):
                images = slice(piece * len(x) // pieces, (piece + 1) * len(x) // pieces)
                self._write_weights(sums[piece], x[images], y[images], tuple(windows), groups)

        run_pieces(some, pieces, _products(sums[0], windows) * len(x))
        for each in sums[1:]:
            numpy.add(sums[0], each, out=sums[0])
        return sums[0].reshape(groups, rows // groups, -1)


def _products(weight: np.ndarray, windows: Sequence[Window]) -> int:
    """Return how many products of elements an image needs, over 64."""
    return weight.size * _count(windows) >> 6


def _count(windows: Sequence[Window]) -> int:
    """Return the number of windows over an image."""
    return math.prod([window.number for window in windows])


def _are_patches(windows: Sequence[Window]) -> bool:
    """Return whether images are their own patches."""
    return all(
        [
            each.kernel == each.stride == 1 and not each.padding and each.number == each.size
            for each in windows
        ]
    )


def _channels_last(x: np.ndarray) -> np.ndarray | None:
    """Return a view in C order whose last axis are the channels; None if `x` is in C order."""
    last = np.moveaxis(x, 1, -1)
    return last if last.flags.c_contiguous and not x.flags.c_contiguous else None


def _with_bias(made: Any, bias: np.ndarray | None) -> Any:
    """Add a number to all results of each channel, in place."""
    if bias is not None:
        numpy.add(made, bias.reshape(-1, *[1] * (made.ndim - 2)), out=made)
    return made


def _write_last(
    compute: Callable[..., Any],
    made: np.ndarray,
    one: np.ndarray,
    weight: np.ndarray,
    windows: Sequence[Window],
    groups: int,
    bias: np.ndarray | None,
) -> None:
    """Write results whose channels come last, as do those of the images."""
    images, results = np.moveaxis(one, -1, 1), np.moveaxis(made, -1, 1)
    _write_results(compute, results, images, weight, windows, groups, bias)


def _write_results(
    compute: Callable[..., Any],
    made: np.ndarray,
    one: np.ndarray,
    weight: np.ndarray,
    windows: Sequence[Window],
    groups: int,
    bias: np.ndarray | None,
) -> None:
    """Write results, or images, of a few images at a time."""
    for some in _few(one, weight, windows):
        made[some] = _with_bias(compute(one[some], weight, windows, groups), bias)


def _add_weights(
    compute: Callable[..., Any],
    made: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    windows: Sequence[Window],
    groups: int,
) -> None:
    """Add the weights of a few images at a time."""
    for some in _few(x, made, windows):
        made += compute(x[some], y[some], windows, groups).reshape(made.shape)


def _few(images: np.ndarray, weight: np.ndarray, windows: Sequence[Window]) -> list[slice]:
    """Return slices of a few images, whose patches have `_ELEMENTS` together."""
    numbers = [window.number * window.kernel for window in windows]
    step = max(_ELEMENTS // max(math.prod([images.shape[1], *numbers]), 1), 1)
    return [slice(start, start + step) for start in range(0, len(images), step)]
