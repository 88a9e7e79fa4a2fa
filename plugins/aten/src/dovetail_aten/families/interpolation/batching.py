"""Resampling of images: a batch is more samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_dispatcher import Operator

from ..._generated import functions as F
from ...batching.table import Rule, batched, call_one
from ...typing import Batch, Dims, Tensor


def upsample(op: Operator) -> Rule:
    """Return the rule of resampling, whose first argument is the image."""
    call = op.handle

    def apply(info: Batch, in_dims: Dims, self: Any, *details: Any) -> tuple[Any, Any]:
        images = batched(self, in_dims[0], info.batch_size)
        return _apart(call(_together(images), *details), images), 0

    return apply


def upsample_backward(op: Operator) -> Rule:
    """Return the rule of its gradient, which is told the size of the image."""
    call = op.handle

    def apply(
        info: Batch,
        in_dims: Dims,
        grad_output: Tensor,
        output_size: Sequence[int],
        input_size: Sequence[int],
        *details: Any,
    ) -> tuple[Any, Any]:
        grads = batched(grad_output, in_dims[0], info.batch_size)
        together = _together(grads)
        size = (together.array.shape[0], *input_size[1:])
        return _apart(call(together, output_size, size, *details), grads), 0

    return apply


def grid_sampler(op: Operator) -> Rule:
    """Return the rule of sampling at points."""
    call = op.handle

    def apply(
        info: Batch, in_dims: Dims, input: Tensor, grid: Tensor, *details: Any
    ) -> tuple[Any, Any]:
        images = batched(input, in_dims[0], info.batch_size)
        points = batched(grid, in_dims[1], info.batch_size)
        if images.array.shape[:2] != points.array.shape[:2] or not info.batch_size:
            call_one(call, in_dims, input, grid, *details)
        return _apart(call(_together(images), _together(points), *details), images), 0

    return apply


def _together(images: Tensor) -> Any:
    """Return the samples of a batch as one row of samples."""
    shape = images.array.shape
    if len(shape) < 3:  # no images at all: the operator says so
        return F.select(images, 0, 0)
    return F.reshape(images, (shape[0] * shape[1], *shape[2:]))


def _apart(result: Tensor, images: Tensor) -> Any:
    return F.reshape(result, (*images.array.shape[:2], *result.array.shape[1:]))
