"""Derivatives of normalization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...typing import Namespace, TensorLike
from .kernels.normalized_input import normalized_input


def normalization_double_backward(
    k: Any,
    grads: Sequence[object],
    grad_out: Any,
    normalized: object,
    rstd: object,
    weight: TensorLike | None,
    dims: tuple[int, ...],
    parameter_dims: tuple[int, ...],
    needs_weight: bool,
) -> tuple[Any, Any, Any]:
    """Return the gradients of the backward of a normalization with respect to the gradient it was
    given, the input, and the weight (with its dimensions kept).

    With x̂ the normalized input and P(v) = v - mean(v) - x̂ mean(v x̂) over the normalized dimensions
    `dims`, it gives ``rstd P(grad_out weight)``, and ``grad_out x̂`` and ``grad_out`` summed over
    `parameter_dims`. `grads`, the weight and all others broadcast against the input.
    """
    grad_input, grad_weight, grad_bias = grads

    def average(x: TensorLike) -> Any:
        return k.mean(x, dims, True)

    def project(x: Any) -> Any:
        return k.sub(k.sub(x, average(x)), k.mul(normalized, average(k.mul(x, normalized))))

    def plus(x: TensorLike | None, y: object) -> Any:
        return y if x is None else k.add(x, y)

    to_out = to_input = to_weight = None
    scaled = grad_out if weight is None else k.mul(grad_out, weight)
    if grad_input is not None:
        projected = k.mul(project(grad_input), rstd)
        to_out = projected if weight is None else k.mul(projected, weight)
        along = average(k.mul(grad_input, normalized))
        scaled_along = average(k.mul(scaled, normalized))
        overlap = average(k.mul(grad_input, project(scaled)))
        bent = k.add(k.mul(project(grad_input), scaled_along), k.mul(project(scaled), along))
        to_input = k.neg(k.mul(k.add(k.mul(normalized, overlap), bent), k.mul(rstd, rstd)))
        if weight is not None and needs_weight:
            to_weight = k.mul(grad_out, projected)
            to_weight = k.sum(to_weight, parameter_dims, True) if parameter_dims else to_weight
    if grad_weight is not None:
        to_out = plus(to_out, k.mul(normalized, grad_weight))
        to_input = plus(to_input, k.mul(project(k.mul(grad_out, grad_weight)), rstd))
    if grad_bias is not None:
        to_out = plus(to_out, k.expand(grad_bias, grad_out.shape))
    return to_out, to_input, to_weight


def layer_norm_double_backward(
    k: Namespace,
    grad_input: object,
    grad_weight: object,
    grad_bias: object,
    grad_out: object,
    input: TensorLike,
    normalized_shape: Sequence[int],
    mean: object,
    rstd: object,
    weight: TensorLike | None,
    grad_input_mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """Return the gradients of native_layer_norm_backward with respect to `grad_out`, `input` and
    `weight`.
    """
    lead = input.ndim - len(normalized_shape)
    dims = tuple(range(lead, input.ndim))
    normalized, rstd = normalized_input(k, input, mean, rstd, dims)
    to_out, to_input, to_weight = normalization_double_backward(
        k,
        (grad_input, grad_weight, grad_bias),
        grad_out,
        normalized,
        rstd,
        weight,
        dims,
        tuple(range(lead)),
        grad_input_mask[2],
    )
    if to_weight is not None:
        to_weight = k.reshape(to_weight, normalized_shape)
    return to_out, to_input, to_weight


def batch_norm_double_backward(
    k: Any,
    grad_input: object,
    grad_weight: object,
    grad_bias: object,
    grad_out: object,
    input: TensorLike,
    weight: Any,
    running_mean: object,
    running_var: object,
    save_mean: object,
    save_invstd: object,
    train: bool,
    eps: float,
    grad_input_mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """Return the gradients of native_batch_norm_backward with respect to `grad_out`, `input` and
    `weight`.
    """
    shape = (1, input.shape[1], *[1] * (input.ndim - 2))
    dims = (0, *range(2, input.ndim))

    def column(x: Any) -> Any:
        return None if x is None else k.reshape(x, shape)

    grads = (grad_input, column(grad_weight), column(grad_bias))
    if train:
        mean, rstd = column(save_mean), column(save_invstd)
        normalized, rstd = normalized_input(k, input, mean, rstd, dims)
        made = normalization_double_backward(
            k, grads, grad_out, normalized, rstd, column(weight), dims, dims, grad_input_mask[2]
        )
    else:
        rstd = k.rsqrt(k.add(column(running_var), eps))
        normalized = k.mul(k.sub(input, column(running_mean)), rstd)
        made = _of_constants(k, grads, grad_out, normalized, rstd, column(weight), dims)
    to_out, to_input, to_weight = made
    return to_out, to_input, None if to_weight is None else k.reshape(to_weight, weight.shape)


def _of_constants(
    k: Any,
    grads: Sequence[object],
    grad_out: Any,
    normalized: object,
    rstd: object,
    weight: TensorLike | None,
    dims: tuple[int, ...],
) -> tuple[Any, Any, Any]:
    """Return the gradients where mean and deviation do not depend on the input: its gradient is
    ``grad_out weight rstd``.
    """
    grad_input, grad_weight, grad_bias = grads
    to_out = to_input = to_weight = None
    if grad_input is not None:
        scaled = k.mul(grad_input, rstd)
        to_out = scaled if weight is None else k.mul(scaled, weight)
        to_weight = None if weight is None else k.sum(k.mul(scaled, grad_out), dims, True)
    if grad_weight is not None:
        through = k.mul(normalized, grad_weight)
        to_out = through if to_out is None else k.add(to_out, through)
        to_input = k.mul(k.mul(grad_out, grad_weight), rstd)
    if grad_bias is not None:
        whole = k.expand(grad_bias, grad_out.shape)
        to_out = whole if to_out is None else k.add(to_out, whole)
    return to_out, to_input, to_weight


def group_norm_backward(
    k: Namespace,
    grad: TensorLike | None,
    grad_mean: TensorLike | None,
    grad_rstd: TensorLike | None,
    input: TensorLike,
    mean: TensorLike,
    rstd: Any,
    weight: TensorLike | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    grad_input_mask: Sequence[bool],
) -> Any:
    """Return the gradients of native_group_norm, of whose results the last two are means, and
    reciprocal deviations r: ``dr/dx = -r³ (x - mean) / count``.
    """
    mean, rstd = k.detach(mean), k.detach(rstd)
    made: Any = (None, None, None)
    if grad is not None:
        made = k.native_group_norm_backward(
            grad, input, mean, rstd, weight, N, C, HxW, group, grad_input_mask
        )
    if (grad_mean is None and grad_rstd is None) or not grad_input_mask[0]:
        return made
    count = C // group * HxW
    each = (N, group, 1, 1)
    whole = k.reshape(input, (N, group, C // group, HxW))
    mean, rstd = k.reshape(mean, each), k.reshape(rstd, each)
    normalized, rstd = normalized_input(k, whole, mean, rstd, (2, 3))
    to_input = k.zeros_like(whole)
    if grad_mean is not None:
        to_input = k.add(to_input, k.div(k.reshape(grad_mean, each), count))
    if grad_rstd is not None:
        slope = k.div(k.mul(normalized, k.mul(rstd, rstd)), count)
        to_input = k.sub(to_input, k.mul(k.reshape(grad_rstd, each), slope))
    to_input = k.reshape(to_input, input.shape)
    return (to_input if made[0] is None else k.add(made[0], to_input), *made[1:])


def group_norm_double_backward(
    k: Namespace,
    grad_input: object,
    grad_weight: object,
    grad_bias: object,
    grad_out: object,
    input: TensorLike,
    mean: object,
    rstd: object,
    weight: TensorLike | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    grad_input_mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """Return the gradients of native_group_norm_backward with respect to `grad_out`, `input` and
    `weight`.
    """
    shape = (N, group, C // group, HxW)

    def whole(x: Any) -> Any:
        return None if x is None else k.reshape(x, shape)

    def of_channels(x: Any) -> Any:
        return None if x is None else k.reshape(x, (1, group, C // group, 1))

    mean, rstd = [k.reshape(each, (N, group, 1, 1)) for each in (mean, rstd)]
    normalized, rstd = normalized_input(k, whole(input), mean, rstd, (2, 3))
    to_out, to_input, to_weight = normalization_double_backward(
        k,
        (whole(grad_input), of_channels(grad_weight), of_channels(grad_bias)),
        whole(grad_out),
        normalized,
        rstd,
        of_channels(weight),
        (2, 3),
        (0, 3),
        grad_input_mask[2],
    )
    to_out, to_input = [
        None if each is None else k.reshape(each, input.shape) for each in (to_out, to_input)
    ]
    return to_out, to_input, None if to_weight is None else k.reshape(to_weight, (C,))
