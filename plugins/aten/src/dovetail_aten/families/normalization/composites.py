"""Normalization in terms of other operators: with running statistics, over samples, groups, and by
the root of the mean square.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_aten.kernel_support.dims import wrap_dim
from dovetail_kernel import finfo, float32, uint8
from dovetail_kernel.tensor import kernel_writes

from ...typing import Tensor


def batch_norm(input: Tensor, *how: Any) -> Any:
    """Return `input` normalized over everything but its channels, dimension 1, then scaled and
    shifted: by its own statistics in training, which the running ones follow, else by those. Which
    of PyTorch's libraries is allowed, by the last argument, does not matter here.
    """
    if input.ndim < 2 and not input.numel():
        return F.clone(input)
    return native_batch_norm(input, *how[:-1])[0]


def native_batch_norm(
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """Return what `batch_norm` does, with mean and reciprocal deviation of the batch; in evaluation
    these are empty.
    """
    if not training:
        return batch_norm_no_training(input, weight, bias, running_mean, running_var, momentum, eps)
    mean, variance = _statistics(input, running_mean, running_var)
    # Of copies: the formula saves what it is given, and running statistics are written here.
    made = F._native_batch_norm_legit_functional(
        input, _vector(weight), _vector(bias), mean, variance, True, momentum, eps
    )
    if running_mean is not None:
        _follow(running_mean, made[3])
        _follow(running_var, made[4])
    return made[:3]


def _follow(running: Any, values: Any) -> None:
    """Write running statistics as kernels write: a function that is differentiated may capture
    them, for no gradient goes through.
    """
    before = kernel_writes.get()
    try:
        kernel_writes.set(True)
        F.copy_(running, values)
    finally:
        kernel_writes.set(before)


def _vector(parameter: Tensor | None) -> Any:
    """Return a number for each channel as a vector: PyTorch counts the elements alone."""
    if parameter is None or parameter.ndim == 1:
        return parameter
    return F.reshape(parameter, (-1,))


def _statistics(input: Tensor, running_mean: Any, running_var: Any) -> list[Any]:
    """Return copies of the running statistics; zeros if there are none. Raises ValueError for one
    of them without the other.
    """
    if (running_mean is None) != (running_var is None):
        raise ValueError(
            "running_mean and running_var must either both be None or neither be None. Give both."
        )
    if running_mean is None:
        return [F.new_zeros(input, (input.shape[wrap_dim(1, input.ndim)],))] * 2
    return [
        F.clone(F.detach(each) if each.requires_grad else each)
        for each in (running_mean, running_var)
    ]


def batch_norm_no_training(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> Any:
    """Return `native_batch_norm` in evaluation."""
    for name, each in (("running_mean", running_mean), ("running_var", running_var)):
        if each is None:
            raise RuntimeError(
                f"{name} must be defined in evaluation mode. Give it, or training=True."
            )
    return F._native_batch_norm_legit_functional(
        input, _vector(weight), _vector(bias), running_mean, running_var, False, momentum, eps
    )[:3]


def batch_norm_without_statistics(input: Tensor, weight: Any, bias: object, *options: Any) -> Any:
    """Return `native_batch_norm` without running statistics."""
    return native_batch_norm(input, weight, bias, None, None, *options)


def batch_norm_with_update(
    input: Tensor, weight: object, bias: Any, mean: Any, var: Any, *options: Any
) -> Any:
    """Return `native_batch_norm` in training, and an empty reserve."""
    made = native_batch_norm(input, weight, bias, mean, var, True, *options)
    return (*made, F.new_empty(input, (0,), dtype=uint8))


def batch_norm_no_update(input: Tensor, *options: Any) -> Any:
    """Return `native_batch_norm` in evaluation, and an empty reserve."""
    return (*batch_norm_no_training(input, *options), F.new_empty(input, (0,), dtype=uint8))


def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    """Return every channel of every sample normalized by itself, or by the running statistics: the
    samples become channels of a batch of one.
    """
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError(
            "Expected running_mean and running_var to be defined when use_input_stats is false. "
            "Give them."
        )
    samples, channels = input.shape[0], input.shape[wrap_dim(1, input.ndim)]
    rows = F.reshape(input, (1, samples * channels, *input.shape[2:]))

    def repeated(x: Tensor | None) -> Any:
        return None if x is None else F.repeat(x, (samples,))

    w, b = repeated(weight), repeated(bias)
    statistics = repeated(running_mean), repeated(running_var)
    made = native_batch_norm(rows, w, b, *statistics, use_input_stats, momentum, eps)[0]
    for running, each in zip((running_mean, running_var), statistics, strict=True):
        if use_input_stats and running is not None:
            _follow(running, F.mean(F.reshape(each, (samples, channels)), (0,)))
    return F.reshape(made, input.shape)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enabled: bool = True,
) -> Any:
    """Return `input` normalized over groups of its channels, dimension 1, then scaled and
    shifted.
    """
    channels = input.shape[wrap_dim(1, input.ndim)]
    sizes = (input.shape[0], channels, math.prod(input.shape[2:]))
    return F.native_group_norm(input, weight, bias, *sizes, num_groups, eps)[0]


def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Any:
    """Return `input` divided by the root of the mean square over its last dimensions, which are
    `normalized_shape`, then scaled (Zhang and Sennrich 2019, arXiv:1910.07467).
    """
    _check_rms_norm(input, normalized_shape, weight)
    own = input.dtype
    small = finfo(own).eps if eps is None else eps
    wide = F.to(input, float32) if own.itemsize < 4 else input
    dims = tuple(range(-len(normalized_shape), 0))
    made = F.mul(wide, F.rsqrt(F.add(F.mean(F.mul(wide, wide), dims, True), small)))
    return F.to(made if weight is None else F.mul(made, weight), own)


def _check_rms_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None) -> None:
    shape = list(normalized_shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
            "element, but got normalized_shape = []. Give the last dimensions of the input."
        )
    if weight is not None and list(weight.shape) != shape:
        raise RuntimeError(
            "Expected weight to be of same shape as normalized_shape, but got weight of shape "
            f"{list(weight.shape)} and normalized_shape = {shape}. Reshape the weight."
        )
    if input.ndim < len(shape):
        raise ValueError(
            f"Input tensor must have at least {len(shape)} dimensions, but got {input.ndim}"
        )
    if list(input.shape[-len(shape) :]) != shape:
        raise RuntimeError(
            f"Given normalized_shape={shape}, expected input with shape "
            f"[*, {', '.join(map(str, shape))}], but got input of size {list(input.shape)}. Give "
            "the last dimensions of the input."
        )
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise NotImplementedError(
            f"\"rms_norm\" not implemented for '{input.dtype.scalar_name}'. Convert to a "
            "floating-point dtype first."
        )


def layer_norm(input: Tensor, *how: Any) -> Any:
    """Return `input` normalized over its last dimensions, then scaled and shifted; which of
    PyTorch's libraries is allowed, by the last argument, does not matter here.
    """
    return F.native_layer_norm(input, *how[:-1])[0]
