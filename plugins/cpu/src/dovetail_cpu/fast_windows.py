"""Windows as NumPy handles them fastest: views of the padded array, and sums written in place."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy

from dovetail_aten.families.convolution.kernels.patches import Patches
from dovetail_aten.kernel_support.geometry.window_geometry import Window
from dovetail_aten.kernel_support.sliding_windows import SlidingWindows

from .gathered_patches import FEW_FOLDED, folded_patches, gathered_patches


class FastWindows(SlidingWindows):
    """Windows without a copy for each of their places."""

    def _patches(self, x: Any, windows: Sequence[Window], axis: int) -> Any:
        """Return the elements of all windows, their places side by side along dimension `axis`."""
        lead = x.ndim - len(windows)
        padded = self._padded(x, windows)
        if all([window.kernel == 1 for window in windows]):
            return numpy.expand_dims(next(iter(list(self._slices(padded, windows)))), axis)
        kernel = tuple([window.kernel for window in windows])
        counts = tuple([window.number for window in windows])
        steps = padded.strides[lead:]
        within = [w.dilation * step for w, step in zip(windows, steps, strict=True)]
        between = [w.stride * step for w, step in zip(windows, steps, strict=True)]
        view = numpy.lib.stride_tricks.as_strided(
            padded,
            (*padded.shape[:axis], *kernel, *padded.shape[axis:lead], *counts),
            (*padded.strides[:axis], *within, *padded.strides[axis:lead], *between),
            writeable=False,
        )
        made = numpy.empty(view.shape, x.dtype)
        made[...] = view
        places = math.prod(kernel)
        return made.reshape(*x.shape[:axis], places, *x.shape[axis:lead], *counts)

    def _folded(self, parts: Iterable[Any], windows: Sequence[Window]) -> Any:
        """Return lines where every element is the sum of what the windows over it hold."""
        inside = [window._replace(size=window.padded, padding=0) for window in windows]
        places = iter(parts)
        first = next(places)
        lead = first.shape[: first.ndim - len(windows)]
        made = numpy.zeros((*lead, *[window.padded for window in windows]), first.dtype)
        slices = self._slices(made, inside)
        numpy.copyto(next(slices), first)
        for part, place in zip(places, slices, strict=True):
            numpy.add(place, part, out=place)
        return self._without_padding(made, windows)


class FastPatches(FastWindows, Patches):
    """Patches by views of windows; of small images by tables."""

    def _columns(self, x: Any, windows: Sequence[Window]) -> Any:
        made = None
        if x.size:
            made = gathered_patches(x.reshape(-1, *x.shape[-3:]), 1, tuple(windows))
        if made is None or made.size == x.size:
            return Patches._columns(self, x, windows)
        return made.reshape(*x.shape[:-3], *made.shape[2:])

    def _images(self, x: Any, windows: Sequence[Window]) -> Any:
        if not 0 < x.size <= FEW_FOLDED:
            return Patches._images(self, x, windows)
        channels = x.shape[-2] // math.prod([window.kernel for window in windows])
        made = folded_patches(x, math.prod(x.shape[:-2]), channels, tuple(windows))
        return made.reshape(*x.shape[:-2], *made.shape[1:])
