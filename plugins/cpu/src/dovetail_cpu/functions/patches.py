"""Patches of images under windows, and sums of patches: NumPy's form of compiled kernels, and the
operators `im2col` and `col2im` by them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy
import numpy as np

from dovetail_aten.families import Patches
from dovetail_aten.kernel_support import Window


def write_patches(patches: np.ndarray, images: np.ndarray, windows: Sequence[Window]) -> None:
    """Write what lies under windows over ``(*lead, *sizes)`` into ``(*lead, places, windows)``, and
    zeros for what they have beyond.
    """
    for place, to, of in _spans(patches, windows):
        place[...] = 0
        place[to] = images[of]


def add_patches(images: np.ndarray, patches: np.ndarray, windows: Sequence[Window]) -> None:
    """Add to ``(*lead, *sizes)`` what windows over them have: ``(*lead, places, windows)``."""
    for place, of, to in _spans(patches, windows):
        images[to] += place[of]


def _spans(patches: Any, windows: Sequence[Window]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the patches of each place as ``(*lead, *counts)``, the elements that are in the image,
    and where.
    """
    lead = patches.shape[:-2]
    places = patches.reshape(*patches.shape[:-1], *[window.number for window in windows])
    for number, place in enumerate(product(*[range(window.kernel) for window in windows])):
        spans = [_span(*each) for each in zip(windows, place, strict=True)]
        of = (..., *[of for of, _ in spans])
        yield places[(*[slice(None)] * len(lead), number)], of, (..., *[to for _, to in spans])


def _span(window: Window, place: int) -> tuple[slice, slice]:
    """Return which windows have their element at `place` in the line, and where."""
    step, before = window.stride, place * window.dilation - window.padding
    least = max(0, -(before // step))
    greatest = min(window.number, (window.size - 1 - before) // step + 1)
    if greatest <= least:
        return slice(0, 0), slice(0, 0)
    last = before + (greatest - 1) * step
    return slice(least, greatest), slice(before + least * step, last + 1, step)


class FastPatches(Patches):
    """Patches that are written, and added, by compiled kernels."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._write = self.capabilities.compiled("write_patches", write_patches)
        self._add = self.capabilities.compiled("add_patches", add_patches)

    def _columns(self, x: np.ndarray, windows: Sequence[Window]) -> Any:
        places = math.prod([window.kernel for window in windows])
        columns = math.prod([window.number for window in windows])
        made = numpy.empty((*x.shape[:-2], places, columns), x.dtype)
        self._write(made, numpy.ascontiguousarray(x), tuple(windows))
        return made.reshape(*x.shape[:-3], x.shape[-3] * places, columns)

    def _images(self, x: np.ndarray, windows: Sequence[Window]) -> Any:
        places = math.prod([window.kernel for window in windows])
        sizes = [window.size for window in windows]
        made = numpy.zeros((*x.shape[:-2], x.shape[-2] // places, *sizes), x.dtype)
        self._add(made, x.reshape(*made.shape[:-2], places, x.shape[-1]), tuple(windows))
        return made
