"""Maxima over windows of images, and convolutions of channels that stay apart."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail_aten.families.convolution.kernels.convolution_geometry import convolution_of
from dovetail_aten.families.pooling.kernels.pooling_geometry import pooled_windows

from ..machine.threads import split
from .covering import over
from .dense_arrays import LONG, are_dense, is_dense, is_float, loops_for


@over("max_pool2d_with_indices", least=1024)
def max_pool(
    below: Any,
    x: Any,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = (0,),
    dilation: Any = (1,),
    ceil_mode: bool = False,
) -> Any:
    """Return the maxima of windows of two by two over the last two dimensions, and their places."""
    rest = (kernel_size, stride, padding, dilation, ceil_mode)
    if not is_float(x) or not is_dense(x, x.dtype):
        return below(x, *rest)
    windows = pooled_windows("max_pool2d", 2, x.shape, *rest)
    lead, counts = x.shape[:-2], tuple([window.number for window in windows])
    images = x.reshape(-1, *x.shape[-2:])
    by_two = [(w.kernel, w.stride, w.padding, w.dilation) == (2, 2, 0, 1) for w in windows]
    whole = [2 * w.number <= w.size for w in windows]
    if not all(by_two + whole) or not len(images) or 0 in counts:
        return below(x, *rest)
    out, places = np.empty((len(images), *counts), x.dtype), np.empty((len(images), *counts), LONG)
    run = loops_for(x.dtype).max_pool_by_two.ready()
    split(lambda a, b: run(out[a:b], places[a:b], images[a:b]), len(images), 0.5 * x.size)
    return out.reshape(*lead, *counts), places.reshape(*lead, *counts)


def _how(rows: Any, columns: Any) -> tuple[int, ...]:
    """Return kernel, stride, padding and dilation, of rows and of columns."""
    return tuple(
        [
            getattr(window, name)
            for name in ("kernel", "stride", "padding", "dilation")
            for window in (rows, columns)
        ]
    )


@over("max_pool2d_with_indices_backward", least=256, counted=1)
def max_pool_backward(
    below: Any,
    grad_output: Any,
    x: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    indices: Any,
) -> Any:
    """Return the gradient of `max_pool`: zeros with the gradient added at the places."""
    if (
        is_float(grad_output)
        and x.ndim >= 3
        and x.size
        and grad_output.dtype == x.dtype
        and grad_output.shape == indices.shape == (*x.shape[:-2], *grad_output.shape[-2:])
        and is_dense(indices, LONG)
        and grad_output.size
    ):
        images = math.prod(x.shape[:-2])
        out = np.empty((images, x.shape[-2] * x.shape[-1]), x.dtype)
        grads = np.ascontiguousarray(grad_output).reshape(images, -1)
        places = indices.reshape(images, -1)
        run = loops_for(x.dtype).add_at_places.ready()
        right = []

        def piece(a: int, b: int) -> None:
            right.append(run(out[a:b], grads[a:b], places[a:b]))

        split(piece, images, 0.5 * x.size)
        if all(right):
            return out.reshape(x.shape)
    return below(grad_output, x, kernel_size, stride, padding, dilation, ceil_mode, indices)


def _is_apart(input: Any, weight: Any, transposed: bool, groups: int) -> bool:
    """Return whether this is a convolution of images each of whose channels is on its own."""
    return (
        not transposed
        and input.ndim == weight.ndim == 4
        and groups == input.shape[1] > 1
        and weight.shape[1] == 1
        and weight.shape[0] % groups == 0
        and is_float(input)
        and are_dense(input.dtype, input, weight)
        and input.size > 0
    )


@over("convolution", least=1024)
def convolution(
    below: Any,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Any:
    """Return a convolution of channels that stay apart."""
    rest = (stride, padding, dilation, transposed, output_padding, groups)
    if not _is_apart(input, weight, transposed, groups) or (
        bias is not None and not is_dense(bias, input.dtype)
    ):
        return below(input, weight, bias, *rest)
    (rows, columns), shape = convolution_of(input, weight, bias, *rest)
    channels, multiple = weight.shape[0], weight.shape[0] // groups
    out = np.empty((shape[0] * channels, *shape[2:]), input.dtype)
    images = input.reshape(-1, *input.shape[2:])
    taps = weight.reshape(channels, *weight.shape[2:])
    offsets = np.zeros(channels, input.dtype) if bias is None else bias
    how = _how(rows, columns)[2:]
    run = loops_for(input.dtype).depthwise.ready()

    def piece(a: int, b: int) -> None:
        # A piece begins with a channel of the input.
        a, b = a * multiple, b * multiple
        run(out[a:b], images[a // multiple : b // multiple], taps, offsets, channels, multiple,
            *how, a % channels)  # fmt: skip

    split(piece, len(images), 0.2 * out.size * taps[0].size)
    return out.reshape(shape)


@over("convolution_backward", least=256)
def convolution_backward(
    below: Any,
    grad_output: Any,
    input: Any,
    weight: Any,
    bias_sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    output_mask: Any,
) -> Any:
    """Return the gradients of a convolution of channels that stay apart."""
    rest = (stride, padding, dilation, transposed, output_padding, groups)
    shape: tuple[int, ...] | None = None
    if _is_apart(input, weight, transposed, groups) and grad_output.dtype == input.dtype:
        (rows, columns), shape = convolution_of(input, weight, None, *rest)
    if shape is None or shape != grad_output.shape:
        return below(grad_output, input, weight, bias_sizes, *rest, output_mask)
    dtype, channels, multiple = input.dtype, weight.shape[0], weight.shape[0] // groups
    grads = np.ascontiguousarray(grad_output).reshape(-1, *shape[2:])
    images = input.reshape(-1, *input.shape[2:])
    taps = weight.reshape(channels, *weight.shape[2:])
    how, cost = _how(rows, columns)[2:], 0.2 * grads.size * taps[0].size
    to_input: Any = None
    to_weight: Any = None
    to_bias: Any = None
    if output_mask[0]:
        to_input = np.empty(images.shape, dtype)
        run = loops_for(dtype).depthwise_to_input.ready()
        split(
            lambda a, b: run(to_input[a:b], grads[a * multiple : b * multiple], taps, channels,
                             multiple, *how, a),
            len(images), cost,
        )  # fmt: skip
        to_input = to_input.reshape(input.shape)
    if output_mask[1]:
        to_weight = np.empty(taps.shape, dtype)
        weigh = loops_for(dtype).depthwise_to_weight.ready()
        split(
            lambda a, b: weigh(to_weight[a:b], grads, images, channels, multiple, *how, a),
            channels, cost,
        )  # fmt: skip
        to_weight = to_weight.reshape(weight.shape)
    if output_mask[2]:
        to_bias = grads.reshape(len(input), channels, -1).sum((0, 2), dtype=dtype)
    return to_input, to_weight, to_bias
