"""Pieces and windows of samples, and samples in which a part is replaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_kernel import contiguous_format

from ..._generated import functions as F
from ...batching.table import batched, front, logical_ndim, logical_shape
from ...typing import Batch, Dims, Tensor


def unsafe_split(
    info: Batch, in_dims: Dims, self: Any, split_size: int, dim: int = 0
) -> tuple[Any, Any]:
    return F.unsafe_split(self, split_size, _place(self, dim)), 0


def unsafe_split_with_sizes(
    info: Batch, in_dims: Dims, self: Any, split_sizes: Sequence[int], dim: int = 0
) -> tuple[Any, Any]:
    return F.unsafe_split_with_sizes(self, split_sizes, _place(self, dim)), 0


def _place(self: Any, dim: int) -> int:
    ndim = logical_ndim(self, 0)
    if not ndim:
        raise RuntimeError(
            "split expects at least a 1-dimensional tensor. Give it a dimension: x.reshape(1)."
        )
    return front(dim, ndim)


def unfold(
    info: Batch, in_dims: Dims, self: Any, dimension: int, size: int, step: int
) -> tuple[Any, Any]:
    ndim = logical_ndim(self, 0)
    if ndim:
        return F.unfold(self, front(dimension, ndim), size, step), 0
    return F.select(F.unfold(F.unsqueeze(self, 1), front(dimension, 1), size, step), 1, 0), 0


def unfold_backward(
    info: Batch,
    in_dims: Dims,
    grad_in: Any,
    input_sizes: Sequence[int],
    dim: int,
    size: int,
    step: int,
) -> tuple[Any, Any]:
    if not input_sizes:
        return F.sum(grad_in, [1]), 0
    sizes = (info.batch_size, *input_sizes)
    return F.unfold_backward(grad_in, sizes, front(dim, len(input_sizes)), size, step), 0


def _pair(info: Batch, in_dims: Dims, self: Any, src: Tensor) -> tuple[Any, Any]:
    return batched(self, in_dims[0], info.batch_size), batched(src, in_dims[1], info.batch_size)


def select_scatter(
    info: Batch, in_dims: Dims, self: Any, src: Tensor, dim: int, index: int
) -> tuple[Any, Any]:
    ndim = logical_ndim(self, in_dims[0])
    if not ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor. Use clone() of src.")
    whole, part = _pair(info, in_dims, self, src)
    return F.select_scatter(whole, part, front(dim, ndim), index), 0


def slice_scatter(
    info: Batch,
    in_dims: Dims,
    self: Any,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> tuple[Any, Any]:
    ndim = logical_ndim(self, in_dims[0])
    if not ndim:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor. Use clone() of src.")
    whole, part = _pair(info, in_dims, self, src)
    return F.slice_scatter(whole, part, front(dim, ndim), start, end, step), 0


def diagonal_scatter(
    info: Batch,
    in_dims: Dims,
    self: Any,
    src: Tensor,
    offset: int = 0,
    dim1: int = 0,
    dim2: int = 1,
) -> tuple[Any, Any]:
    ndim = logical_ndim(self, in_dims[0])
    whole, part = _pair(info, in_dims, self, src)
    return F.diagonal_scatter(whole, part, offset, front(dim1, ndim), front(dim2, ndim)), 0


def as_strided_scatter(
    info: Batch,
    in_dims: Dims,
    self: Any,
    src: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> tuple[Any, Any]:
    """Strides are those of each sample; an offset is that of the first one, as in `as_strided`."""
    whole, part = _pair(info, in_dims, self, src)
    if in_dims[0] is None:  # each sample gets memory of its own
        whole = F.clone(whole, memory_format=contiguous_format)
    if 0 in logical_shape(whole, 0):
        return F.clone(whole), 0
    return F.as_strided_scatter(
        whole, part, (info.batch_size, *size), (whole.stride(0), *stride), storage_offset
    ), 0
