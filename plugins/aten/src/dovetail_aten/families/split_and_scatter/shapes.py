"""Windows of a dimension, and copies of a tensor in which a part is replaced."""

from __future__ import annotations

from collections.abc import Sequence

from ...kernel_support.dims import wrap_dim
from ...kernel_support.geometry.view_bounds import shares_places
from ...meta.meta_array import MetaArray
from ...meta.table import dense_like, like
from ...meta.view_shapes import as_strided, diagonal, select, slice_along
from .kernels import check_source, window_count


def unfold(self: MetaArray, dimension: int, size: int, step: int) -> MetaArray:
    place = wrap_dim(dimension, self.ndim)
    shape, strides = list(self.shape) or [1], list(self.element_strides) or [1]
    own = strides[place]
    shape[place] = window_count(shape[place], place, size, step)
    strides[place] = own * step
    if not self.ndim:
        return self.shown((size,), (1,))
    return self.shown((*shape, size), (*strides, own))


def unfold_backward(
    grad_in: MetaArray, input_sizes: Sequence[int], dim: int, size: int, step: int
) -> MetaArray:
    wrap_dim(dim, len(input_sizes))
    return MetaArray(input_sizes, grad_in.dtype)


def select_scatter(self: MetaArray, src: MetaArray, dim: int, index: int) -> MetaArray:
    check_source(src, select(self, dim, index).shape)
    return dense_like(self)


def slice_scatter(
    self: MetaArray,
    src: MetaArray,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> MetaArray:
    check_source(src, slice_along(self, dim, start, end, step).shape)
    return dense_like(self)


def diagonal_scatter(
    self: MetaArray, src: MetaArray, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> MetaArray:
    check_source(src, diagonal(self, offset, dim1, dim2).shape)
    return dense_like(self)


def as_strided_scatter(
    self: MetaArray,
    src: MetaArray,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> MetaArray:
    whole = like(self) if shares_places(self.shape, self.element_strides) else self
    check_source(src, as_strided(whole, size, stride, storage_offset).shape)
    return like(self)
