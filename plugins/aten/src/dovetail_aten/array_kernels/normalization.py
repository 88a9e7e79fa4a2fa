"""Layer normalization and its backward kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .capabilities import Capabilities
from .dtype_errors import float_only
from .operands import Numbers, Precision
from .table import KernelTable


def check_layer_norm(input: Any, normalized_shape: Sequence[int], weight: Any, bias: Any) -> int:
    """Return the number of leading dimensions that are not normalized.

    Raises
    ------
    RuntimeError
        If the input does not end in `normalized_shape`, or weight or bias do not have it.
    """
    shape = tuple(normalized_shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least "
            "one element, but got "
            "normalized_shape = []. Name the dimensions to normalize."
        )
    for name, array in (("weight", weight), ("bias", bias)):
        if array is not None and tuple(array.shape) != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of "
                f"shape {list(array.shape)} "
                f"and normalized_shape = {list(shape)}. Reshape it."
            )
    lead: int = input.ndim - len(shape)
    if lead < 0 or tuple(input.shape[lead:]) != shape:
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*, "
            f"{', '.join(map(str, shape))}], but "
            f"got input of size{list(input.shape)}. Give the last dimensions of the input."
        )
    return lead


def define(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    """Define the kernels of this family."""
    numbers, precision, check_float = (
        Numbers(capabilities),
        Precision(capabilities),
        float_only(capabilities),
    )
    halves, single = precision.halves, precision.single
    add, multiply, subtract = xp.add, xp.multiply, xp.subtract

    def dtype_of_statistics(own: Any, weight: Any, bias: Any) -> Any:
        """Return the dtype of mean and rstd: that of the weights, which may be single beside a
        half-precision input.
        """
        given = [each.dtype for each in (weight, bias) if each is not None]
        if all(each == own for each in given):
            return own
        if own in halves and all(each == single for each in given):
            return single
        raise RuntimeError(
            "mixed dtype (CPU): all inputs must share same datatype. Convert weight and bias."
        )

    def widened(array: Any) -> Any:
        return array.astype(single) if array is not None and array.dtype in halves else array

    @kernel.named("native_layer_norm")
    def native_layer_norm(
        input: Any, normalized_shape: Sequence[int], weight: Any, bias: Any, eps: float
    ) -> tuple[Any, Any, Any]:
        check_float("LayerNormKernelImpl", input)
        lead = check_layer_norm(input, normalized_shape, weight, bias)
        own, shape = input.dtype, input.shape
        statistics = dtype_of_statistics(own, weight, bias)
        length = math.prod(shape[lead:])
        rows = widened(input).reshape(math.prod(shape[:lead]), length)
        # Of no elements the mean is 0, and the deviation is undefined.
        mean = multiply(rows.sum(1, None, None, True), numbers.like(rows, 1 / (length or 1)))
        away = subtract(rows, mean)
        variance = multiply(
            multiply(away, away).sum(1, None, None, True),
            numbers.like(rows, 1 / (length or math.nan)),
        )
        rstd = xp.reciprocal(xp.sqrt(add(variance, numbers.like(rows, eps))))
        result = multiply(away, rstd)
        if weight is not None:
            result = multiply(result, weight.reshape(-1))
        if bias is not None:
            result = add(result, bias.reshape(-1))
        kept = tuple(shape[:lead]) + (1,) * (len(shape) - lead)
        return (
            result.reshape(shape).astype(own, copy=False),
            mean.reshape(kept).astype(statistics, copy=False),
            rstd.reshape(kept).astype(statistics, copy=False),
        )

    @kernel.named("native_layer_norm_backward")
    def native_layer_norm_backward(
        grad_out: Any,
        input: Any,
        normalized_shape: Sequence[int],
        mean: Any,
        rstd: Any,
        weight: Any,
        bias: Any,
        output_mask: Sequence[bool],
    ) -> tuple[Any, Any, Any]:
        own, shape = input.dtype, input.shape
        lead = input.ndim - len(normalized_shape)
        inner = shape[lead:]
        length = math.prod(inner)
        matrix = (math.prod(shape[:lead]), length)
        grad = widened(grad_out).reshape(matrix)
        needs_input, needs_weight, needs_bias = output_mask
        needs_weight = needs_weight and weight is not None
        to_input = to_weight = to_bias = None
        if needs_input or needs_weight:
            inverse = widened(rstd).reshape(-1, 1)
            normalized = multiply(
                subtract(widened(input).reshape(matrix), widened(mean).reshape(-1, 1)), inverse
            )
            product = multiply(grad, normalized)
            if needs_weight:
                to_weight = product.sum(0).reshape(inner).astype(weight.dtype, copy=False)
        if needs_input:
            share = numbers.like(grad, 1 / (length or 1))
            scaled, along = grad, product
            if weight is not None:
                scale = widened(weight).reshape(length)
                scaled, along = multiply(grad, scale), multiply(product, scale)
            along, total = along.sum(1, None, None, True), scaled.sum(1, None, None, True)
            centered = subtract(scaled, multiply(total, share))
            to_input = multiply(
                subtract(centered, multiply(normalized, multiply(along, share))), inverse
            )
            to_input = to_input.reshape(shape).astype(own, copy=False)
        if needs_bias:
            like = own if bias is None else bias.dtype
            to_bias = grad.sum(0).reshape(inner).astype(like, copy=False)
        return to_input, to_weight, to_bias
