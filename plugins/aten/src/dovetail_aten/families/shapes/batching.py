"""Copies, and tensors joined from several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_kernel import MemoryFormat, contiguous_format, preserve_format

from ..._generated import functions as F
from ...batching.table import batched, front, logical_ndim, logical_shape
from ...typing import Batch


def _format(memory_format: MemoryFormat | None) -> Any:
    """Return a memory format that a batch can have: what orders the dimensions of a sample does not
    fit a batch.
    """
    return (
        memory_format
        if memory_format in (None, contiguous_format, preserve_format)
        else contiguous_format
    )


def clone(
    info: Any, in_dims: Any, self: Any, *, memory_format: MemoryFormat | None = None
) -> tuple[Any, Any]:
    return F.clone(self, memory_format=_format(memory_format)), 0


def to_copy(
    info: Batch,
    in_dims: Sequence[int],
    self: Any,
    *,
    memory_format: MemoryFormat | None = None,
    **options: Any,
) -> tuple[Any, Any]:
    return F._to_copy(self, memory_format=_format(memory_format), **options), 0


def cat(info: Batch, in_dims: Any, tensors: Sequence[object], dim: int = 0) -> tuple[Any, Any]:
    shapes = [logical_shape(tensor, own) for tensor, own in zip(tensors, in_dims[0], strict=True)]
    # PyTorch passes over vectors of no elements, whatever the others are.
    ndim = next(iter([len(shape) for shape in shapes if shape != (0,)]), 1)
    kept = [
        batched(tensor, own, info.batch_size)
        for tensor, own, shape in zip(tensors, in_dims[0], shapes, strict=True)
        if shape != (0,) or ndim == 1
    ]
    if any([len(shape) != ndim for shape in shapes if shape != (0,)]):
        raise RuntimeError(
            "Tensors must have same number of dimensions: got "
            f"{', '.join(str(len(shape)) for shape in shapes)}. "
            "Reshape one of them."
        )
    if not ndim:
        raise RuntimeError(
            "zero-dimensional tensor (at position 0) cannot be concatenated. Use stack."
        )
    return F.cat(kept, front(dim, ndim)), 0


def stack(info: Batch, in_dims: Any, tensors: Sequence[object], dim: int = 0) -> tuple[Any, Any]:
    ndim = logical_ndim(tensors[0], in_dims[0][0]) + 1
    all_batched = [
        batched(tensor, own, info.batch_size)
        for tensor, own in zip(tensors, in_dims[0], strict=True)
    ]
    return F.stack(all_batched, front(dim, ndim)), 0
