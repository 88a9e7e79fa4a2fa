"""Pieces and windows of samples, and samples in which a part is replaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_dispatcher import Operator
from dovetail_kernel import contiguous_format

from ..._generated import functions as F
from ...batching.dimensions import physical_dims
from ...batching.table import Rule, batched, call_one, front, logical_ndim, logical_shape
from ...typing import Batch, Dims, Tensor


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


def scattered(op: Operator) -> Rule:
    """Return the rule of an operator that writes a part of a copy."""
    call, physical = op.handle, physical_dims(op)

    def apply(info: Batch, in_dims: Dims, *args: Any) -> tuple[Any, Any]:
        ndim = logical_ndim(args[0], in_dims[0])
        if not ndim:
            call_one(call, in_dims, *args)  # which refuses
        return call(*_pair(info, in_dims, *args[:2]), *physical(args, ndim)[2:]), 0

    return apply


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
