"""Normalization of layers, of batches and of groups, and the gradients."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ..machine.threads import split
from .covering import over
from .dense_arrays import are_dense, is_float, loops_for


@lru_cache(64)
def _ones(length: int, dtype: Any) -> Any:
    return np.ones(length, dtype)


@lru_cache(64)
def _zeros(length: int, dtype: Any) -> Any:
    return np.zeros(length, dtype)


@over("native_layer_norm", least=256)
def native_layer_norm(
    below: Any, input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float
) -> Any:
    """Return layer normalization, the mean and the reciprocal deviation of every row."""
    dtype, shape = input.dtype, tuple(normalized_shape)
    lead = input.ndim - len(shape)
    if (
        not is_float(input)
        or not are_dense(dtype, input, weight, bias)
        or not shape
        or lead < 0
        or input.shape[lead:] != shape
        or any([each is not None and each.shape != shape for each in (weight, bias)])
    ):
        return below(input, normalized_shape, weight, bias, eps)
    length = math.prod(shape)
    rows = input.reshape(-1, length)
    scale = _ones(length, dtype) if weight is None else weight.reshape(-1)
    shift = _zeros(length, dtype) if bias is None else bias.reshape(-1)
    out = np.empty(rows.shape, dtype)
    mean, rstd = np.empty(len(rows), dtype), np.empty(len(rows), dtype)
    run = loops_for(dtype).layer_norm.ready()

    def piece(a: int, b: int) -> None:
        run(out[a:b], mean[a:b], rstd[a:b], rows[a:b], scale, shift, eps)

    split(piece, len(rows), 0.6 * rows.size)
    kept = input.shape[:lead] + (1,) * len(shape)
    return out.reshape(input.shape), mean.reshape(kept), rstd.reshape(kept)


@over("native_layer_norm_backward", least=256)
def native_layer_norm_backward(
    below: Any,
    grad_out: Any,
    input: Any,
    normalized_shape: Any,
    mean: Any,
    rstd: Any,
    weight: Any,
    bias: Any,
    output_mask: Any,
) -> Any:
    """Return the gradients of layer normalization that `output_mask` asks for."""
    dtype, shape = input.dtype, tuple(normalized_shape)
    lead = input.ndim - len(shape)
    rows = math.prod(input.shape[:lead]) if lead >= 0 else -1
    if (
        not is_float(input)
        or grad_out.dtype != dtype
        or grad_out.shape != input.shape
        or not are_dense(dtype, input, mean, rstd, weight, bias)
        or not shape
        or input.shape[lead:] != shape
        or mean.size != rows
        or rstd.size != rows
        or any([each is not None and each.shape != shape for each in (weight, bias)])
    ):
        return below(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask)
    length = math.prod(shape)
    x, g = input.reshape(rows, length), np.ascontiguousarray(grad_out).reshape(rows, length)
    center, inverse = mean.reshape(-1), rstd.reshape(-1)
    scale = _ones(length, dtype) if weight is None else weight.reshape(-1)
    out = np.empty(x.shape, dtype)
    sums: dict[int, Any] = {}
    run = loops_for(dtype).layer_norm_backward.ready()

    def piece(a: int, b: int) -> None:
        sums[a] = np.zeros((2, length))
        run(out[a:b], *sums[a], g[a:b], x[a:b], center[a:b], inverse[a:b], scale)

    split(piece, rows, 1.2 * x.size)
    to_weight, to_bias = sum([sums[key] for key in sorted(sums)]).astype(dtype)
    needs_input, needs_weight, needs_bias = output_mask
    return (
        out.reshape(input.shape) if needs_input else None,
        to_weight.reshape(shape) if needs_weight and weight is not None else None,
        to_bias.reshape(shape) if needs_bias else None,
    )


def _is_batch(x: Any, *vectors: Any) -> bool:
    """Return whether an array is one of images with channels, and vectors have a number for each
    of these.
    """
    if not is_float(x) or x.ndim < 3 or not x.size or math.prod(x.shape[2:]) < 8:
        return False
    shape = (x.shape[1],)
    return are_dense(x.dtype, x, *vectors) and all(
        [each is None or each.shape == shape for each in vectors]
    )


@over("_native_batch_norm_legit_functional", least=256)
def batch_norm(
    below: Any,
    x: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """Return batch normalization, the statistics, and the running ones as they are from now on."""
    if not _is_batch(x, weight, bias, running_mean, running_var):
        return below(x, weight, bias, running_mean, running_var, training, momentum, eps)
    dtype, channels = x.dtype, x.shape[1]
    images, loops = x.reshape(len(x), channels, -1), loops_for(dtype)
    count = x.size // channels
    if training:
        mean, variance = np.empty(channels, dtype), np.empty(channels, dtype)
        measure = loops.statistics_of_channels.ready()
        split(lambda a, b: measure(mean, variance, images, a, b), channels, 0.3 * x.size)
    else:
        mean, variance = running_mean, running_var
    rstd = 1 / np.sqrt(variance + dtype.type(eps))
    scale = rstd if weight is None else rstd * weight
    shift = _zeros(channels, dtype) if bias is None else bias
    out = np.empty(images.shape, dtype)
    run = loops.scale_channels.ready()
    split(lambda a, b: run(out, images, mean, scale, shift, a, b), channels, 0.25 * x.size)
    made = out.reshape(x.shape)
    if not training:
        empty = np.zeros(0, dtype)
        return made, empty, empty.copy(), running_mean.copy(), running_var.copy()
    unbiased = variance * dtype.type(count / (count - 1) if count > 1 else math.nan)
    kept, new = dtype.type(1 - momentum), dtype.type(momentum)
    return made, mean, rstd, running_mean * kept + mean * new, running_var * kept + unbiased * new


@over("native_batch_norm_backward", least=256)
def batch_norm_backward(
    below: Any,
    grad_out: Any,
    x: Any,
    weight: Any,
    running_mean: Any,
    running_var: Any,
    save_mean: Any,
    save_invstd: Any,
    train: bool,
    eps: float,
    output_mask: Any,
) -> Any:
    """Return the gradients of batch normalization that `output_mask` asks for."""
    statistics = (save_mean, save_invstd) if train else (running_mean, running_var)
    if (
        not _is_batch(x, weight, *statistics)
        or any([each is None for each in statistics])
        or grad_out.dtype != x.dtype
        or grad_out.shape != x.shape
    ):
        return below(
            grad_out, x, weight, running_mean, running_var, save_mean, save_invstd, train, eps,
            output_mask,
        )  # fmt: skip
    dtype, channels = x.dtype, x.shape[1]
    images = x.reshape(len(x), channels, -1)
    grads = np.ascontiguousarray(grad_out).reshape(images.shape)
    mean = statistics[0]
    rstd = save_invstd if train else 1 / np.sqrt(running_var + dtype.type(eps))
    loops = loops_for(dtype)
    total, along = np.empty(channels, dtype), np.empty(channels, dtype)
    measure = loops.sums_of_channels.ready()
    split(lambda a, b: measure(total, along, grads, images, mean, a, b), channels, 0.5 * x.size)
    to_input = None
    if output_mask[0]:
        factor = rstd if weight is None else rstd * weight
        if train:
            share = dtype.type(channels / x.size)
            straight, bent = total * share, along * rstd * rstd * share
        else:
            straight = bent = _zeros(channels, dtype)
        out = np.empty(images.shape, dtype)
        run = loops.channels_backward.ready()
        split(
            lambda a, b: run(out, grads, images, mean, factor, straight, bent, a, b),
            channels,
            0.4 * x.size,
        )
        to_input = out.reshape(x.shape)
    return (
        to_input,
        along * rstd if output_mask[1] else None,
        total if output_mask[2] else None,
    )


def _is_grouped(x: Any, vectors: Any, shape: tuple[int, int, int], group: int) -> bool:
    """Return whether arguments of group normalization fit, and there is something to compute."""
    return (
        is_float(x)
        and x.size == math.prod(shape)
        and x.ndim >= 2
        and x.shape[:2] == shape[:2]
        and x.size > 0
        and group > 0
        and shape[1] % group == 0
        and are_dense(x.dtype, x, *vectors)
        and all([each is None or each.shape == (shape[1],) for each in vectors])
    )


@over("native_group_norm", least=256)
def group_norm(
    below: Any, x: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
) -> Any:
    """Return group normalization, and mean and reciprocal deviation of every group."""
    if not _is_grouped(x, (weight, bias), (N, C, HxW), group):
        return below(x, weight, bias, N, C, HxW, group, eps)
    dtype = x.dtype
    images = x.reshape(N, C, HxW)
    scale = _ones(C, dtype) if weight is None else weight
    shift = _zeros(C, dtype) if bias is None else bias
    out = np.empty(images.shape, dtype)
    mean, rstd = np.empty((N, group), dtype), np.empty((N, group), dtype)
    run = loops_for(dtype).group_norm.ready()
    split(
        lambda a, b: run(out, mean, rstd, images, scale, shift, group, eps, a, b), N, 0.6 * x.size
    )
    return out.reshape(x.shape), mean, rstd


@over("native_group_norm_backward", least=256)
def group_norm_backward(
    below: Any,
    grad_out: Any,
    x: Any,
    mean: Any,
    rstd: Any,
    weight: Any,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: Any,
) -> Any:
    """Return the gradients of group normalization that `output_mask` asks for."""
    if (
        not _is_grouped(x, (weight,), (N, C, HxW), group)
        or grad_out.dtype != x.dtype
        or grad_out.shape != x.shape
        or mean.size != N * group
        or rstd.size != N * group
        or not are_dense(x.dtype, mean, rstd)
    ):
        return below(grad_out, x, mean, rstd, weight, N, C, HxW, group, output_mask)
    dtype = x.dtype
    images = x.reshape(N, C, HxW)
    grads = np.ascontiguousarray(grad_out).reshape(N, C, HxW)
    scale = _ones(C, dtype) if weight is None else weight
    out = np.empty(images.shape, dtype)
    along, total = np.empty((N, C), dtype), np.empty((N, C), dtype)
    centers, inverses = mean.reshape(N, group), rstd.reshape(N, group)
    run = loops_for(dtype).group_norm_backward.ready()
    split(
        lambda a, b: run(out, along, total, grads, images, centers, inverses, scale, group, a, b),
        N,
        1.0 * x.size,
    )
    return (
        out.reshape(x.shape) if output_mask[0] else None,
        along.sum(0) if output_mask[1] else None,
        total.sum(0) if output_mask[2] else None,
    )
