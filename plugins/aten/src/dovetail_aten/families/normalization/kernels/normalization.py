"""Layer normalization and its backward kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail_kernel.typing import NativeDtype

from ....kernel_support.family import Family, operator
from ....typing import Array, Shaped


class Normalization(Family):
    """Layer normalization."""

    def _dtype_of_statistics(
        self, own: NativeDtype, weight: Array | None, bias: Array | None
    ) -> Any:
        """Return the dtype of mean and rstd: that of the weights, which may be single beside a
        half-precision input.
        """
        given = [each.dtype for each in (weight, bias) if each is not None]
        if all([each == own for each in given]):
            return own
        if own in self.precision.halves and all([each == self.precision.single for each in given]):
            return self.precision.single
        raise RuntimeError(
            "mixed dtype (CPU): all inputs must share same datatype. Convert weight and bias."
        )

    def _sum_of_rows(self, matrix: Array) -> Any:
        """Return the sum of every row, as a column."""
        return matrix.sum(axis=1, keepdims=True)

    def _sum_of_columns(self, matrix: Array) -> Any:
        """Return the sum of every column."""
        return matrix.sum(axis=0)

    @operator("native_layer_norm")
    def native_layer_norm(
        self,
        input: Array,
        normalized_shape: Sequence[int],
        weight: Array | None,
        bias: Array | None,
        eps: float,
    ) -> tuple[Any, Any, Any]:
        """Return ``(input - mean) / sqrt(variance + eps) * weight + bias`` over the last
        dimensions, and the mean and reciprocal deviation (Ba, Kiros and Hinton 2016,
        arXiv:1607.06450).
        """
        xp, wide, like = self.xp, self.precision.wide, self.numbers.like
        lead = check_layer_norm(input, normalized_shape, weight, bias)
        self.check_float("LayerNormKernelImpl", input)
        own, shape = input.dtype, input.shape
        statistics = self._dtype_of_statistics(own, weight, bias)
        length = math.prod(shape[lead:])
        rows = xp.reshape(wide(input), (math.prod(shape[:lead]), length))
        # Of no elements the mean is 0, and the deviation is undefined.
        mean = xp.multiply(self._sum_of_rows(rows), like(rows, 1 / (length or 1)))
        away = xp.subtract(rows, mean)
        variance = xp.multiply(
            self._sum_of_rows(xp.multiply(away, away)), like(rows, 1 / (length or math.nan))
        )
        rstd = xp.reciprocal(xp.sqrt(xp.add(variance, like(rows, eps))))
        result = xp.multiply(away, rstd)
        if weight is not None:
            result = xp.multiply(result, xp.reshape(weight, (-1,)))
        if bias is not None:
            result = xp.add(result, xp.reshape(bias, (-1,)))
        kept = tuple(shape[:lead]) + (1,) * (len(shape) - lead)
        return (
            self.ordered(self.precision.converted(xp.reshape(result, shape), own)),
            xp.reshape(mean, kept).astype(statistics, copy=False),
            xp.reshape(rstd, kept).astype(statistics, copy=False),
        )

    @operator("native_layer_norm_backward")
    def native_layer_norm_backward(
        self,
        grad_out: Array,
        input: Array,
        normalized_shape: Sequence[int],
        mean: Array,
        rstd: Array,
        weight: Any,
        bias: Any,
        output_mask: Sequence[bool],
    ) -> tuple[Any, Any, Any]:
        """Return the gradients of input, weight and bias that `output_mask` selects."""
        xp, wide, like = self.xp, self.precision.wide, self.numbers.like
        own, shape = input.dtype, input.shape
        lead = check_layer_norm(input, normalized_shape, weight, bias)
        self.check_float("LayerNormBackwardKernelImpl", input)
        rows = math.prod(shape[:lead])
        if grad_out.shape != shape or mean.size != rows or rstd.size != rows:
            raise RuntimeError(
                f"native_layer_norm_backward: of an input of shape {list(shape)} the gradient has "
                f"that shape and mean and rstd have {rows} elements, but they have shapes "
                f"{list(grad_out.shape)}, {list(mean.shape)} and {list(rstd.shape)}. Pass what "
                "native_layer_norm returned."
            )
        inner = shape[lead:]
        length = math.prod(inner)
        matrix = (math.prod(shape[:lead]), length)
        grad = xp.reshape(wide(grad_out), matrix)
        needs_input, needs_weight, needs_bias = output_mask
        needs_weight = needs_weight and weight is not None
        to_input = to_weight = to_bias = None
        if needs_input or needs_weight:
            inverse = xp.reshape(wide(rstd), (-1, 1))
            normalized = xp.multiply(
                xp.subtract(xp.reshape(wide(input), matrix), xp.reshape(wide(mean), (-1, 1))),
                inverse,
            )
            product = xp.multiply(grad, normalized)
            if needs_weight:
                to_weight = xp.reshape(self._sum_of_columns(product), inner).astype(
                    weight.dtype, copy=False
                )
        if needs_input:
            share = like(grad, 1 / (length or 1))
            scaled, along = grad, product
            if weight is not None:
                scale = xp.reshape(wide(weight), (length,))
                scaled, along = xp.multiply(grad, scale), xp.multiply(product, scale)
            along, total = self._sum_of_rows(along), self._sum_of_rows(scaled)
            centered = xp.subtract(scaled, xp.multiply(total, share))
            to_input = xp.multiply(
                xp.subtract(centered, xp.multiply(normalized, xp.multiply(along, share))), inverse
            )
            to_input = self.precision.converted(xp.reshape(to_input, shape), own)
            to_input = self.ordered(to_input)
        if needs_bias:
            like = own if bias is None else bias.dtype
            to_bias = xp.reshape(self._sum_of_columns(grad), inner).astype(like, copy=False)
        return to_input, to_weight, to_bias


def check_layer_norm(
    input: Shaped, normalized_shape: Sequence[int], weight: Shaped | None, bias: Shaped | None
) -> int:
    """Return the number of leading dimensions that are not normalized.

    Raises
    ------
    RuntimeError
        If the input does not end in `normalized_shape`, or weight or bias have another shape.
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
