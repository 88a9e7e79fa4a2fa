"""Windows as NumPy handles them fastest: views of the padded array, and sums written in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from dovetail_aten.array_kernels.convolution import Convolutions
from dovetail_aten.array_kernels.patches import Patches
from dovetail_aten.array_kernels.sliding_windows import SlidingWindows
from dovetail_aten.array_kernels.window_geometry import Window


class FastWindows(SlidingWindows):
    """Windows without a copy for each of their places."""

    def _patches(self, x: Any, windows: Sequence[Window], axis: int) -> Any:
        """Return the elements of all windows, their places side by side along dimension `axis`."""
        lead = x.ndim - len(windows)
        padded = self._padded(x, windows)
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
        places = int(numpy.prod(kernel))
        return made.reshape(*x.shape[:axis], places, *x.shape[axis:lead], *counts)

    def _folded(self, patches: Any, windows: Sequence[Window]) -> Any:
        """Return lines where every element is the sum of what the windows over it hold."""
        lead = patches.ndim - len(windows) - 1
        shape = (*patches.shape[:lead], *[window.padded for window in windows])
        made = numpy.zeros(shape, patches.dtype)
        parts = numpy.moveaxis(patches, lead, 0)
        inside = [window._replace(size=window.padded, padding=0) for window in windows]
        for part, place in zip(parts, self._slices(made, inside), strict=True):
            numpy.add(place, part, out=place)
        return self._without_padding(made, windows)


class FastConvolutions(FastWindows, Convolutions):
    """Convolutions over views of windows."""


class FastPatches(FastWindows, Patches):
    """Patches by views of windows."""
