"""Shapes of parts of arrays that share their memory."""

from __future__ import annotations

from collections.abc import Sequence

from ..kernel_support.checks.view_checks import (
    check_diagonal,
    check_select,
    check_slice,
    diagonal_length,
)
from ..kernel_support.geometry.view_bounds import check_view_bounds, extent
from .meta_array import MetaArray


def select(self: MetaArray, dim: int, index: int) -> MetaArray:
    return self[(slice(None),) * check_select(self.shape, dim, index) + (index,)]


def slice_along(
    self: MetaArray, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> MetaArray:
    place = check_slice(self.ndim, dim, step)
    size = self.shape[place]
    first, last, _ = slice(start, end).indices(size)
    strides = list(self.element_strides)
    offset = self.offset + first * strides[place]
    strides[place] *= step
    shape = list(self.shape)
    shape[place] = len(range(first, last, step))
    return self.shown(shape, strides, offset)


def diagonal(self: MetaArray, offset: int = 0, dim1: int = 0, dim2: int = 1) -> MetaArray:
    a, b = check_diagonal(self.ndim, dim1, dim2)
    count = diagonal_length(self.shape[a], self.shape[b], offset)
    start = self.offset
    if count:
        start += (
            offset * self.element_strides[b] if offset >= 0 else -offset * self.element_strides[a]
        )
    kept = [i for i in range(self.ndim) if i not in (a, b)]
    stride = self.element_strides[a] + self.element_strides[b]
    return self.shown(
        [*(self.shape[i] for i in kept), count],
        [*(self.element_strides[i] for i in kept), stride],
        start,
    )


def as_strided(
    self: MetaArray, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> MetaArray:
    offset = self.offset if storage_offset is None else storage_offset
    memory = self.memory
    room = extent(memory.shape, memory.element_strides) * memory.itemsize
    check_view_bounds(size, stride, offset, self.itemsize, room)
    return self.shown(size, stride, offset)
