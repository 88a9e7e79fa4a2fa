"""Views without NumPy's iterator, without a pass over their sizes and without a look at the memory
that they lie in.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy
import numpy as np

from dovetail_aten.families import Views, Windows, window_count
from dovetail_aten.kernel_support import extent, repeats_places, wrap_dim

_make = numpy.ndarray
_MANY = 1 << 16


class FastViews(Views):
    """Other shapes, expansion, and slices."""

    def view(self, x: np.ndarray, size: Sequence[int]) -> Any:
        """Return a view with another shape, which NumPy finds; what it refuses or copies is looked
        at by the generic kernel.
        """
        try:
            result = x.reshape(size)
        except ValueError:
            return Views.view(self, x, size)
        # NumPy takes any negative size for the one to be found, and copies where it must: a copy
        # has neither the array nor its base for a base.
        base = result.base
        if (base is x or base is x.base is not None) and (-1 in size or result.shape == size):
            return result
        return Views.view(self, x, size)

    def expand(self, x: Any, size: Sequence[int], *, implicit: bool = False) -> Any:
        """Return a view broadcast to `size`, made from its strides; -1 keeps a size."""
        shape, own = tuple(size), x.shape
        if shape == own:
            return x
        found = _expansion(shape, own, x.strides) if x.flags.c_contiguous else None
        if found is None:
            return Views.expand(self, x, size)
        sizes, steps, repeats = found
        # An array is a buffer, also for ndarray's own constructor: numpy.broadcast_to takes eight
        # times as long.
        result = _make(sizes, x.dtype, x, 0, steps)
        if repeats:
            # A third of the time of setting the flag by its name.
            result.setflags(False)  # type: ignore[call-arg]  # the stubs want a keyword
        return result

    def unbind(self, x: Any, dim: int = 0) -> list[Any]:
        """Return views of all slices along `dim`, which NumPy finds by itself along the first of
        several; of one alone it would make numbers. Of very many the generic kernel asks for room.
        """
        if x.ndim < 2 or (-x.ndim <= dim < x.ndim and x.shape[dim] > _MANY):
            return Views.unbind(self, x, dim)
        return [*(x.transpose(_first(dim, x.ndim)) if dim else x)]


class FastWindows(Windows):
    """Windows of a dimension."""

    def unfold(self, x: np.ndarray, dimension: int, size: int, step: int) -> Any:
        """Return a view of all windows of `size` elements along `dimension`, made from its
        strides.
        """
        if not x.ndim or not x.size or not x.flags.c_contiguous:
            return Windows.unfold(self, x, dimension, size, step)
        axis = wrap_dim(dimension, x.ndim)
        shape, strides = x.shape, x.strides
        count = window_count(shape[axis], axis, size, step)
        own = strides[axis]
        return _make(
            (*shape[:axis], count, *shape[axis + 1 :], size),
            x.dtype,
            x,
            0,
            (*strides[:axis], own * step, *strides[axis + 1 :], own),
        )

    def as_strided_scatter(
        self,
        x: np.ndarray,
        src: np.ndarray,
        size: Sequence[int],
        stride: Sequence[int],
        storage_offset: int | None = None,
    ) -> Any:
        """Return a copy with `src` for the part of memory with these sizes, strides and offset,
        written through a view where that lies within `x` and no elements share a place.
        """
        if x.flags.c_contiguous and x.size and x.dtype is src.dtype:
            own, begin = self._checked_part(x, src, size, stride, storage_offset)
            first = begin - own
            reach = extent(size, stride)
            if reach and 0 <= first <= x.size - reach and not repeats_places(size, stride):
                made = numpy.array(x)
                steps = [step * x.itemsize for step in stride]
                _make(size, x.dtype, made, first * x.itemsize, steps)[...] = src
                return made
        return Windows.as_strided_scatter(self, x, src, size, stride, storage_offset)


@lru_cache(256)
def _first(dim: int, ndim: int) -> tuple[int, ...]:
    """Return the order of dimensions that begins with `dim`."""
    axis = wrap_dim(dim, ndim)
    return (axis, *range(axis), *range(axis + 1, ndim))


@lru_cache(1024)
def _expansion(
    shape: tuple[int, ...], own: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...], bool] | None:
    """Return sizes and strides of an array of `own` shape broadcast to `shape`, and whether
    elements repeat; None for an expansion that the generic kernel has to look at.
    """
    lead = len(shape) - len(own)
    if lead < 0 or 0 in shape or 0 in own or min(shape[:lead], default=0) < 0:
        return None
    sizes, steps = [*shape[:lead]], [0] * lead
    for wanted, present, step in zip(shape[lead:], own, strides, strict=True):
        if wanted in (present, -1):
            sizes.append(present)
            steps.append(step)
        elif present == 1 and wanted > 0:
            sizes.append(wanted)
            steps.append(0)
        else:
            return None
    return tuple(sizes), tuple(steps), prod(sizes) > prod(own)
