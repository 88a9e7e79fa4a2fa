"""Normalisation, with PyTorch's signatures."""

from __future__ import annotations

import math
from collections.abc import Sequence

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_dispatcher import overridable

from .. import functional as F


@overridable
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise over the last dimensions to mean 0 and variance 1, then scale by ``weight`` and add
    ``bias``.

    Parameters
    ----------
    input : Tensor
        ``(*, *normalized_shape)``
    normalized_shape : sequence of int
        The last dimensions of the input.
    weight, bias : Tensor, optional
        Tensors of shape ``normalized_shape``.
    eps : float, default 1e-5
        Value added to the variance.
    """
    return aten.layer_norm(input, normalized_shape, weight, bias, eps)


@overridable
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise every channel over the batch to mean 0 and variance 1, then scale by ``weight`` and
    add ``bias``.

    Parameters
    ----------
    input : Tensor
        ``(N, C, *)``
    running_mean, running_var : Tensor or None
        ``(C)``. Training updates them in place with the mean and the unbiased variance of the
        batch; otherwise they replace the batch statistics.
    weight, bias : Tensor, optional
        ``(C)``
    training : bool, default False
        Whether to use the statistics of the batch.
    momentum : float, default 0.1
        Weight of the batch in the running statistics.
    eps : float, default 1e-5
        Value added to the variance.

    Raises
    ------
    ValueError
        In training with a single element per channel, for an ``eps`` that is not positive, or if
        only one of the running statistics is passed.
    RuntimeError
        If a size is wrong, or if running statistics are missing.
    """
    if training:
        _verify_batch_size(input.size())
        if eps <= 0.0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    return aten.batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps, False
    )


def _verify_batch_size(size: Sequence[int]) -> None:
    """Raise an error for a batch with a single number for each channel, which has no variance."""
    if len(size) > 1 and math.prod((size[0], *size[2:])) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {size}"
        )


@overridable
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise every channel of every sample to mean 0 and variance 1, then scale by ``weight``
    and add ``bias``.

    Parameters
    ----------
    input : Tensor
        ``(N, C, *)``
    running_mean, running_var : Tensor, optional
        ``(C)``. With ``use_input_stats``, they are updated in place with the averages over the
        samples; otherwise they replace the input statistics.
    weight, bias : Tensor, optional
        ``(C)``
    use_input_stats : bool, default True
        Whether to use the statistics of the input.
    momentum : float, default 0.1
        Weight of the input in the running statistics.
    eps : float, default 1e-5
        Value added to the variance.

    Raises
    ------
    ValueError
        With ``use_input_stats`` and a single element per channel, or if only one of the running
        statistics is passed.
    RuntimeError
        If a size is wrong, or if both are missing without ``use_input_stats``.
    """
    if use_input_stats and math.prod(input.size()[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {input.size()}"
        )
    return aten.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False
    )


@overridable
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise groups of channels of every sample to mean 0 and variance 1, then scale by
    ``weight`` and add ``bias``.

    Parameters
    ----------
    input : Tensor
        ``(N, C, *)``
    num_groups : int
        Divides C.
    weight, bias : Tensor, optional
        ``(C)``
    eps : float, default 1e-5
        Value added to the variance.

    Raises
    ------
    ValueError
        If every group has a single element.
    RuntimeError
        If a size is wrong.
    """
    if input.dim() < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.dim()}"
        )
    samples, channels, *rest = input.size()
    if math.prod((samples * channels // num_groups, num_groups, *rest)) == num_groups:
        raise ValueError(
            "Expected more than 1 value per channel when training, got input size "
            f"{list(input.size())}"
        )
    return aten.group_norm(input, num_groups, weight, bias, eps)


@overridable
def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """Divide by the root of the mean square over the last dimensions, then scale by ``weight``.

    Parameters
    ----------
    input : Tensor
        ``(*, *normalized_shape)``
    normalized_shape : sequence of int
        The last dimensions of the input.
    weight : Tensor, optional
        Tensors of shape ``normalized_shape``.
    eps : float, optional
        Value added to the mean square. Default: the ``finfo(dtype).eps`` of the input.
    """
    return aten.rms_norm(input, normalized_shape, weight, eps)


@overridable
def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Divide by ``(k + alpha * m) ** beta``, where m is the mean square of ``size`` neighbouring
    channels.

    Parameters
    ----------
    input : Tensor
        ``(N, C, *)`` of 3 dimensions or more.
    size : int
        Number of channels, 1 or more; channels beyond the first and the last count as zeros.
    alpha, beta, k : float
        As in the formula.

    Raises
    ------
    ValueError
        If the input has fewer than 3 dimensions.
    RuntimeError
        If ``size`` is not positive.
    """
    if input.dim() < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)"
        )
    if size < 1:
        raise RuntimeError(f"kernel size should be greater than zero, but got {size}")
    if input.numel() == 0:
        return input
    channels = input.size(1)
    padding = [0, 0] * (input.dim() - 2) + [size // 2, (size - 1) // 2]
    square = F.pad(input * input, padding)
    total = square.narrow(1, 0, channels)
    for start in range(1, size):
        total = total + square.narrow(1, start, channels)
    return input / (total / size * alpha + k).pow(beta)
