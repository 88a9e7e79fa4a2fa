"""Convolutions of a batch: samples become images, or groups where each has its own weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_dispatcher import Operator

from ..._generated import functions as F
from ...batching.table import Rule, batched, call_one, logical_ndim, logical_shape
from ...typing import Batch, Dims, Tensor, TensorLike


def _as_groups(tensor: Any, in_dim: int | None, size: int, dim: int) -> Any:
    """Return a tensor with the samples side by side along dimension `dim` of a sample."""
    tensor = batched(tensor, in_dim, size)
    ndim = tensor.array.ndim
    order = (*range(1, dim + 1), 0, *range(dim + 1, ndim))
    moved = F.permute(tensor, order)
    shape = moved.array.shape
    return F.reshape(moved, (*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :]))


def _from_groups(tensor: Tensor, size: int, dim: int) -> Any:
    """Return what `_as_groups` is given, from what it returns."""
    shape = tensor.array.shape
    parted = F.reshape(tensor, (*shape[:dim], size, shape[dim] // size, *shape[dim + 1 :]))
    order = (dim, *[each for each in range(len(shape) + 1) if each != dim])
    return F.permute(parted, order)


def convolution(
    info: Batch,
    in_dims: Dims,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> tuple[Any, Any]:
    size = info.batch_size
    how = (stride, padding, dilation, transposed, output_padding)
    if _misfit(in_dims, input, weight, bias) or not size:
        call_one(F.convolution, in_dims, input, weight, bias, *how, groups)
    if in_dims[1] is None and in_dims[2] is None:
        shape = logical_shape(input, in_dims[0])
        images = F.reshape(input, (size * shape[0], *shape[1:]))
        made = F.convolution(images, weight, bias, *how, groups)
        return F.reshape(made, (size, shape[0], *made.array.shape[1:])), 0
    inputs = _as_groups(input, in_dims[0], size, 1)
    weights = _as_groups(weight, in_dims[1], size, 0)
    biases = None if bias is None else _as_groups(bias, in_dims[2], size, 0)
    made = F.convolution(inputs, weights, biases, *how, groups * size)
    return _from_groups(made, size, 1), 0


def _misfit(in_dims: Dims, input: TensorLike, weight: TensorLike, bias: TensorLike | None) -> bool:
    """Return whether samples have shapes that a batch of them might fit though they do not."""
    ndim = logical_ndim(weight, in_dims[1])
    return logical_ndim(input, in_dims[0]) != ndim or (
        bias is not None and logical_ndim(bias, in_dims[2]) != 1
    )


def convolution_backward(
    info: Batch,
    in_dims: Dims,
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Any, Any]:
    size = info.batch_size
    how = (stride, padding, dilation, transposed, output_padding)
    if _misfit(in_dims[1:], input, weight, None) or not size:
        call_one(
            F.convolution_backward,
            in_dims,
            *[grad_output, input, weight, bias_sizes, *how, groups, output_mask],
        )
    is_shared = output_mask[0] and in_dims[2] is None
    made: Any = F.convolution_backward(
        _as_groups(grad_output, in_dims[0], size, 1),
        _as_groups(input, in_dims[1], size, 1),
        _as_groups(weight, in_dims[2], size, 0),
        None,
        *how,
        groups * size,
        (output_mask[0] and not is_shared, *output_mask[1:]),
    )
    results = [
        None if each is None else _from_groups(each, size, dim)
        for each, dim in zip(made, (1, 0, 0), strict=True)
    ]
    if is_shared:  # the gradients of images by one weight need no groups
        grads = F.flatten(batched(grad_output, in_dims[0], size), 0, 1)
        images = F.flatten(batched(input, in_dims[1], size), 0, 1)
        only_images = (True, False, False)
        found = F.convolution_backward(grads, images, weight, None, *how, groups, only_images)[0]
        results[0] = F.view(found, (size, -1, *found.array.shape[1:]))
    return tuple(results), tuple([None if each is None else 0 for each in results])


def pixels(op: Operator) -> Rule:
    """Return the rule of an operator of the last three dimensions, before which any may come."""
    call = op.handle

    def apply(info: Batch, in_dims: Dims, self: Any, factor: int) -> tuple[Any, Any]:
        if logical_ndim(self, in_dims[0]) < 3:
            call_one(call, in_dims, self, factor)
        return call(self, factor), 0

    return apply


def channel_shuffle(info: Batch, in_dims: Dims, self: Any, groups: int) -> tuple[Any, Any]:
    shape = logical_shape(self, in_dims[0])
    if len(shape) < 3:
        call_one(F.channel_shuffle, in_dims, self, groups)
    merged = F.reshape(self, (info.batch_size * shape[0], *shape[1:]))
    return F.reshape(F.channel_shuffle(merged, groups), (info.batch_size, *shape)), 0
