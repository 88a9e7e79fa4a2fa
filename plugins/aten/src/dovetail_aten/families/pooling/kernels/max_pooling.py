"""Maxima over windows of images, and over a given number of them, with their places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail_kernel import iinfo
from dovetail_kernel.types import FLOAT
from dovetail_kernel.typing import NativeDtype

from ....kernel_support.family import operator, widened
from ....kernel_support.geometry.window_geometry import Window
from ....kernel_support.sliding_windows import SlidingWindows
from ....typing import Array
from .maxima import Maxima
from .pooling_geometry import check_adaptive, pooled_windows
from .segments import adaptive_runs


class MaxPooling(Maxima, SlidingWindows):
    """Maxima over windows, whose padding is less than every element."""

    @operator("max_pool2d_with_indices")
    @widened
    def max_pool2d(self, x: Array, *how: Any) -> tuple[Any, Any]:
        """Return the maximum of each window over the last two dimensions, and its place."""
        return self._max_pool("max_pool2d", 2, x, *how)

    @operator("max_pool3d_with_indices")
    @widened
    def max_pool3d(self, x: Array, *how: Any) -> tuple[Any, Any]:
        """Return the maximum of each window over the last three dimensions, and its place."""
        return self._max_pool("max_pool3d", 3, x, *how)

    @operator("adaptive_max_pool2d")
    @widened
    def adaptive_max_pool2d(self, x: Array, output_size: Sequence[int]) -> tuple[Any, Any]:
        """Return the maxima of ``output_size`` nearly equal windows, and their indices."""
        return self._adaptive("adaptive_max_pool2d", 2, x, output_size)

    @operator("adaptive_max_pool3d")
    @widened
    def adaptive_max_pool3d(self, x: Array, output_size: Sequence[int]) -> tuple[Any, Any]:
        """Return the maxima of ``output_size`` nearly equal windows, and their indices."""
        return self._adaptive("adaptive_max_pool3d", 3, x, output_size)

    def _max_pool(
        self,
        name: str,
        ndim: int,
        x: Array,
        kernel_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        dilation: Sequence[int] = (1,),
        ceil_mode: bool = False,
    ) -> tuple[Any, Any]:
        windows = pooled_windows(
            name, ndim, x.shape, kernel_size, stride, padding, dilation, ceil_mode
        )
        values = self._padded(x, windows, self._least(x.dtype))
        elements = [[each.at(offset) for offset in range(each.kernel)] for each in windows]
        return self._maxima(values, self._places_under(windows), elements)

    def _adaptive(
        self, name: str, ndim: int, x: Array, output_size: Sequence[int]
    ) -> tuple[Any, Any]:
        check_adaptive(name, ndim, x.shape, output_size, empty_channels=False)
        sizes = x.shape[-ndim:]
        runs = [adaptive_runs(*pair) for pair in zip(sizes, output_size, strict=True)]
        places = self.xp.reshape(self.xp.arange(math.prod(sizes), dtype=self.xp.int64), sizes)
        # A place beyond the end of a run is its last one once more, which changes nothing.
        elements = [[places for places, _ in each.elements()] or [()] for each in runs]
        return self._maxima(x, places, elements)

    def _least(self, native_dtype: NativeDtype) -> Any:
        """Return the number of a dtype below all others."""
        dtype = self.dtypes[native_dtype]
        return -math.inf if dtype.category == FLOAT else iinfo(dtype).min

    def _places_under(self, windows: Sequence[Window]) -> Any:
        """Return, for padded images, where each element lies in an image. For what is padded before
        the image it is the first element of the image in the same window, which counts where all
        are equal.
        """
        xp = self.xp
        places = None
        for place, window in enumerate(windows):
            line = [
                at % window.dilation if at < 0 else min(at, window.size - 1)
                for at in range(-window.padding, window.padded - window.padding)
            ]
            behind = windows[place + 1 :]
            step = math.prod([each.size for each in behind])
            row = xp.asarray([at * step for at in line], dtype=xp.int64)
            row = xp.reshape(row, (-1, *[1] * len(behind)))
            places = row if places is None else xp.add(places, row)
        return places
