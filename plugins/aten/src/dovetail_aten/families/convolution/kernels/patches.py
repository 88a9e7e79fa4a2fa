"""`im2col` and `col2im`: patches of images as the columns of a matrix, and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ....kernel_support.family import operator, widened
from ....kernel_support.geometry.window_geometry import Window
from ....kernel_support.sliding_windows import SlidingWindows
from ....typing import Array
from .patch_geometry import Blocks, blocks_of, folded_blocks_of


class Patches(SlidingWindows):
    """Patches of images as columns."""

    @operator("im2col")
    @widened
    def im2col(self, x: Array, *blocks: Sequence[int]) -> Any:
        """Return the patches of all positions of a window, one per column."""
        return self._columns(x, blocks_of(x.shape, Blocks(*blocks)))

    def _columns(self, x: Any, windows: Sequence[Window]) -> Any:
        """Return the patches of images as columns."""
        lead = x.ndim - 2
        made = self._patches(x, windows, lead)
        rows = x.shape[lead - 1] * made.shape[lead]
        columns = math.prod([window.number for window in windows])
        made = self.xp.reshape(made, (*x.shape[: lead - 1], rows, columns))
        # A window of one element makes a view of what may be the argument.
        return made.copy() if made.size == x.size else made

    @operator("col2im")
    @widened
    def col2im(self, x: Array, output_size: Sequence[int], *blocks: Sequence[int]) -> Any:
        """Return images of `output_size`, in which patches are added."""
        windows = folded_blocks_of(x.shape, output_size, Blocks(*blocks))
        return self._images(x, windows)

    def _images(self, x: Any, windows: Sequence[Window]) -> Any:
        """Return images whose elements are the sums of what columns have of them."""
        places = math.prod([window.kernel for window in windows])
        channels = x.shape[-2] // places
        counts = [window.number for window in windows]
        patches = self.xp.reshape(x, (*x.shape[:-2], channels, places, *counts))
        lead = x.ndim - 2
        parts = [patches[(*(slice(None),) * (lead + 1), place)] for place in range(places)]
        return self.ordered(self._folded(parts, windows))
