"""Derivatives of normalization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def layer_norm_double_backward(
    k: Any,
    grad_input: Any,
    grad_weight: Any,
    grad_bias: Any,
    grad_out: Any,
    input: Any,
    normalized_shape: Sequence[int],
    mean: Any,
    rstd: Any,
    weight: Any,
    grad_input_mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """Return the gradients of native_layer_norm_backward with respect to `grad_out`, `input` and
    `weight`.

    With x̂ the normalized input and P(v) = v - mean(v) - x̂ mean(v x̂) over the normalized
    dimensions, native_layer_norm_backward gives ``rstd P(grad_out weight)``, ``sum(grad_out x̂)``
    and ``sum(grad_out)``.
    """
    dims = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    batch = tuple(range(input.ndim - len(normalized_shape)))
    normalized = k.mul(k.sub(input, mean), rstd)

    def average(x: Any) -> Any:
        return k.mean(x, dims, True)

    def project(x: Any) -> Any:
        return k.sub(k.sub(x, average(x)), k.mul(normalized, average(k.mul(x, normalized))))

    def plus(x: Any, y: Any) -> Any:
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
        if weight is not None and grad_input_mask[2]:
            to_weight = k.mul(grad_out, projected)
            to_weight = k.reshape(k.sum(to_weight, batch) if batch else to_weight, normalized_shape)
    if grad_weight is not None:
        to_out = plus(to_out, k.mul(normalized, grad_weight))
        to_input = plus(to_input, k.mul(project(k.mul(grad_out, grad_weight)), rstd))
    if grad_bias is not None:
        to_out = plus(to_out, k.expand(grad_bias, grad_out.shape))
    return to_out, to_input, to_weight
