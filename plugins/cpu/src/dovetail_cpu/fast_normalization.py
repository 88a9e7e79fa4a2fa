"""Layer normalization by blocks of rows that stay in the cache."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy

from dovetail_aten.array_kernels.normalization import Normalization, check_layer_norm

_FLOATS = tuple(map(numpy.dtype, (numpy.float32, numpy.float64)))
_BLOCK = 1 << 16
"""Elements at a time."""
_add: Any = numpy.add.reduce


@lru_cache(64)
def _average(length: int, dtype: Any) -> Any:
    """Return the vector whose product with a row is the mean of the row."""
    return numpy.full(length, 1 / length, dtype)


def _repeated(row: Any, times: int) -> Any:
    """Return `row` repeated as often as a block has rows: a pass over two whole blocks takes half
    the time.
    """
    return None if row is None else numpy.repeat(row[None], times, 0)


class FastNormalization(Normalization):
    """Layer normalization by blocks of rows."""

    def _sum_of_rows(self, matrix: Any) -> Any:
        return _add(matrix, 1, None, None, True)

    def _sum_of_columns(self, matrix: Any) -> Any:
        return _add(matrix, 0)

    def native_layer_norm(
        self, input: Any, normalized_shape: Sequence[int], weight: Any, bias: Any, eps: float
    ) -> tuple[Any, Any, Any]:
        """Return layer normalization, mean and reciprocal deviation, by blocks of rows."""
        dtype = input.dtype
        if (
            dtype not in _FLOATS
            or not input.size
            or (weight is not None and weight.dtype is not dtype)
            or (bias is not None and bias.dtype is not dtype)
        ):
            return Normalization.native_layer_norm(self, input, normalized_shape, weight, bias, eps)
        lead = check_layer_norm(input, normalized_shape, weight, bias)
        length = prod(input.shape[lead:])
        rows = self.capabilities.contiguous(input).reshape(-1, length)
        scale = None if weight is None else weight.reshape(length)
        shift = None if bias is None else bias.reshape(length)
        average = _average(length, dtype)
        epsilon, share = dtype.type(eps), dtype.type(1 / length)
        kept = input.shape[:lead] + (1,) * (input.ndim - lead)
        if input.size <= _BLOCK:
            mean = rows.dot(average)
            result = numpy.subtract(rows, mean[:, None])
            rstd = numpy.multiply(result, result).dot(average)
            numpy.add(rstd, epsilon, out=rstd)
            numpy.sqrt(rstd, out=rstd)
            numpy.reciprocal(rstd, out=rstd)
            numpy.multiply(result, rstd[:, None], out=result)
            if scale is not None:
                numpy.multiply(result, scale, out=result)
            if shift is not None:
                numpy.add(result, shift, out=result)
            return result.reshape(input.shape), mean.reshape(kept), rstd.reshape(kept)
        result = numpy.empty(rows.shape, dtype)
        mean, rstd = numpy.empty((len(rows), 1), dtype), numpy.empty((len(rows), 1), dtype)
        step = max(1, _BLOCK // length)
        scale, shift = _repeated(scale, step), _repeated(shift, step)
        for start in range(0, len(rows), step):
            block = slice(start, start + step)
            out, center, inverse = result[block], mean[block], rstd[block]
            numpy.dot(rows[block], average, out=center[:, 0])
            numpy.subtract(rows[block], center, out=out)
            numpy.vecdot(out, out, out=inverse[:, 0])
            numpy.multiply(inverse, share, out=inverse)
            numpy.add(inverse, epsilon, out=inverse)
            numpy.sqrt(inverse, out=inverse)
            numpy.reciprocal(inverse, out=inverse)
            numpy.multiply(out, inverse, out=out)
            if scale is not None:
                numpy.multiply(out, scale[: len(out)], out=out)
            if shift is not None:
                numpy.add(out, shift[: len(out)], out=out)
        return result.reshape(input.shape), mean.reshape(kept), rstd.reshape(kept)

    def native_layer_norm_backward(
        self,
        grad_out: Any,
        input: Any,
        normalized_shape: Sequence[int],
        mean: Any,
        rstd: Any,
        weight: Any,
        bias: Any,
        output_mask: Sequence[bool],
    ) -> tuple[Any, Any, Any]:
        """Return the gradients of layer normalization, of large inputs by blocks of rows."""
        dtype = input.dtype
        arrays = (grad_out, mean, rstd, *[each for each in (weight, bias) if each is not None])
        if (
            input.size <= _BLOCK
            or dtype not in _FLOATS
            or any(each.dtype is not dtype for each in arrays)
        ):
            return Normalization.native_layer_norm_backward(
                self, grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask
            )
        inner = tuple(normalized_shape)
        length = prod(inner)
        rows, grads = input.reshape(-1, length), grad_out.reshape(-1, length)
        centers, inverses = mean.reshape(-1, 1), rstd.reshape(-1, 1)
        scale = None if weight is None else weight.reshape(length)
        needs_input, needs_weight, needs_bias = output_mask
        needs_weight = needs_weight and weight is not None
        average, share = _average(length, dtype), dtype.type(1 / length)
        result = numpy.empty(rows.shape, dtype) if needs_input else None
        to_weight, to_bias = numpy.zeros(length, dtype), numpy.zeros(length, dtype)
        step = max(1, _BLOCK // length)
        scale = _repeated(scale, step)
        ones = numpy.ones(step, dtype)
        normalized = numpy.empty((step, length), dtype)
        product = numpy.empty((step, length), dtype)
        for start in range(0, len(rows), step):
            block = slice(start, start + step)
            grad, inverse = grads[block], inverses[block]
            count = len(grad)
            if needs_bias:
                to_bias += ones[:count].dot(grad)
            if not needs_input and not needs_weight:
                continue
            even, along = normalized[:count], product[:count]
            numpy.subtract(rows[block], centers[block], out=even)
            numpy.multiply(even, inverse, out=even)
            if needs_weight:
                numpy.multiply(grad, even, out=along)
                to_weight += ones[:count].dot(along)
            if result is not None:
                out = result[block]
                scaled = grad if scale is None else numpy.multiply(grad, scale[:count], out=out)
                total = scaled.dot(average)[:, None]
                slope = (numpy.vecdot(scaled, even) * share)[:, None]
                numpy.multiply(even, slope, out=even)
                numpy.subtract(scaled, even, out=out)
                numpy.subtract(out, total, out=out)
                numpy.multiply(out, inverse, out=out)
        return (
            None if result is None else result.reshape(input.shape),
            to_weight.reshape(inner) if needs_weight else None,
            to_bias.reshape(inner) if needs_bias else None,
        )
