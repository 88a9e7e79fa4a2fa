"""Arrays of one dtype joined without looking at each of them more than once, triangles by
remembered masks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy

from dovetail_aten.families import Shapes
from dovetail_aten.kernel_support import Function, never_warns
from dovetail_kernel import contiguous_format

_concatenate = getattr(numpy.concatenate, "_implementation", numpy.concatenate)
"""The function behind the one that asks for ``__array_function__``."""
_NEW: tuple[tuple[Any, ...], ...] = ((None,), (slice(None), None))
"""Indices that give an array a new dimension, by its place."""
_MASKS_UP_TO = 1 << 16
_STRIP = 64
"""Rows of a large triangle that are copied at a time."""


@lru_cache(64)
def _outside(name: str, rows: int, columns: int, diagonal: int) -> Any:
    """Return where a triangle is not."""
    inside = numpy.tri(rows, columns, diagonal if name == "tril" else diagonal - 1, bool)
    return ~inside if name == "tril" else inside


def _large_triangle(name: str, x: Any, diagonal: int) -> Any:
    """Return a triangle strip by strip: all but a square of each strip is copied or left out."""
    made = numpy.zeros(x.shape, x.dtype)
    rows, columns = x.shape[-2:]
    for start in range(0, rows, _STRIP):
        stop = min(start + _STRIP, rows)
        # Between these columns the diagonal runs through the strip.
        first = min(max(start + diagonal, 0), columns)
        last = min(max(stop + diagonal, 0), columns)
        strip, source = made[..., start:stop, :], x[..., start:stop, :]
        whole = slice(0, first) if name == "tril" else slice(last, columns)
        strip[..., whole] = source[..., whole]
        if last > first:
            outside = _outside(name, stop - start, last - first, diagonal + start - first)
            part = source[..., first:last].copy()
            part[..., outside] = 0
            strip[..., first:last] = part
    return made


class FastShapes(Shapes):
    """Arrays of one dtype joined; triangles by remembered masks, or strips; large transposed arrays
    copied in strips.
    """

    @never_warns
    def cat(self, tensors: Sequence[Any], dim: int = 0) -> Any:
        """Return the arrays joined along `dim`: what is not plain is left to the generic kernel."""
        dtype = tensors[0].dtype if tensors else None
        for array in tensors:
            if array.dtype is not dtype or not array.size or not array.ndim:
                return Shapes.cat(self, tensors, dim)
        try:
            joined = _concatenate(tensors, dim)
        except (ValueError, TypeError):
            return Shapes.cat(self, tensors, dim)
        return joined if joined.flags.c_contiguous else joined.copy()

    @never_warns
    def stack(self, tensors: Sequence[Any], dim: int = 0) -> Any:
        """Return the arrays joined along a new dimension in front or behind the first."""
        if not tensors or not 0 <= dim < 2:
            return Shapes.stack(self, tensors, dim)
        dtype, shape = tensors[0].dtype, tensors[0].shape
        for array in tensors:
            if array.dtype is not dtype or array.shape != shape or len(shape) < dim:
                return Shapes.stack(self, tensors, dim)
        key = _NEW[dim]
        joined = _concatenate([array[key] for array in tensors], dim)
        return joined if joined.flags.c_contiguous else joined.copy()

    def _arranged(self, array: Any, memory_format: Any) -> Any:
        """Return a new array in the memory order of a format."""
        if memory_format is contiguous_format and array.flags.fnc:
            return self.capabilities.contiguous(array)
        return Shapes._arranged(self, array, memory_format)

    def _with_zeros(self, name: str, compare: Function, x: Any, diagonal: int) -> Any:
        """Return a triangle of matrices, by a mask that is kept or strip by strip."""
        if x.shape[-1] * x.shape[-2] > _MASKS_UP_TO:
            return _large_triangle(name, x, diagonal)
        result = x.copy()
        outside = _outside(name, *x.shape[-2:], diagonal)
        numpy.copyto(result, self.numbers.like(x, 0), where=outside)
        return result
