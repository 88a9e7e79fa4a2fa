"""Normalization of channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_kernel import dtype

from ...meta.meta_array import MetaArray
from ...meta.table import like
from .kernels.channel_normalization import check_batch_norm, check_group_norm
from .kernels.normalization import check_layer_norm

Optional = MetaArray | None


def _of_statistics(input: MetaArray, parameters: Sequence[Optional]) -> dtype:
    """Return the dtype of mean and deviation: that of the parameters, if some differ."""
    given = [each.dtype for each in parameters if each is not None]
    return next(iter([each for each in given if each is not input.dtype]), input.dtype)


def batch_norm(
    input: MetaArray,
    weight: Optional,
    bias: Optional,
    running_mean: MetaArray,
    running_var: MetaArray,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[MetaArray, MetaArray, MetaArray, MetaArray, MetaArray]:
    parameters = (weight, bias, running_mean, running_var)
    channels = check_batch_norm(input.shape, *parameters)
    one = like(input, (channels if training else 0,), _of_statistics(input, parameters))
    return like(input), one, like(one), like(running_mean), like(running_var)


def native_batch_norm_backward(
    grad_out: MetaArray,
    input: MetaArray,
    weight: Optional,
    running_mean: Optional,
    running_var: Optional,
    save_mean: Optional,
    save_invstd: Optional,
    train: bool,
    eps: float,
    output_mask: Sequence[bool],
) -> tuple[Optional, Optional, Optional]:
    channels = check_batch_norm(input.shape, weight, None, running_mean, running_var)
    kind = _of_statistics(input, (weight, running_mean, running_var))
    kind = kind if weight is None else weight.dtype
    return _gradients(input, (channels,), kind, output_mask)


def native_group_norm(
    input: MetaArray,
    weight: Optional,
    bias: Optional,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[MetaArray, MetaArray, MetaArray]:
    check_group_norm(input.shape, weight, bias, C, group)
    one = like(input, (N, group), _of_statistics(input, (weight, bias)))
    return like(input), one, like(one)


def native_group_norm_backward(
    grad_out: MetaArray,
    input: MetaArray,
    mean: MetaArray,
    rstd: MetaArray,
    weight: Optional,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: Sequence[bool],
) -> tuple[Optional, Optional, Optional]:
    check_group_norm(input.shape, weight, None, C, group)
    kind = input.dtype if weight is None else weight.dtype
    return _gradients(input, (C,), kind, output_mask)


def _gradients(
    input: MetaArray, shape: Sequence[int], kind: dtype, output_mask: Sequence[bool]
) -> tuple[Optional, Optional, Optional]:
    one = like(input, shape, kind)
    first, second, third = [
        each if wanted else None
        for each, wanted in zip((like(input), one, like(one)), output_mask, strict=True)
    ]
    return first, second, third


def native_layer_norm(
    input: MetaArray,
    normalized_shape: Sequence[int],
    weight: MetaArray | None,
    bias: MetaArray | None,
    eps: float,
) -> tuple[MetaArray, MetaArray, MetaArray]:
    lead = check_layer_norm(input, normalized_shape, weight, bias)
    shape = (*input.shape[:lead], *(1,) * (input.ndim - lead))
    return like(input), like(input, shape), like(input, shape)


def native_layer_norm_backward(
    grad_out: MetaArray, input: MetaArray, normalized_shape: Sequence[int], *rest: Any
) -> tuple[Optional, Optional, Optional]:
    return _gradients(input, normalized_shape, input.dtype, rest[-1])
