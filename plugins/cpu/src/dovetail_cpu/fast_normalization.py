"""Layer normalization by blocks of rows that stay in the cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy

from dovetail_aten.array_kernels import KernelTable
from dovetail_aten.array_kernels.normalization import check_layer_norm
from dovetail_aten.capabilities import Capabilities

_FLOATS = tuple(map(numpy.dtype, (numpy.float32, numpy.float64)))
_BLOCK = 1 << 15
"""Elements at a time."""


@lru_cache(64)
def _average(length: int, dtype: Any) -> Any:
    """Return the vector whose product with a row is the mean of the row."""
    return numpy.full(length, 1 / length, dtype)


def define(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    """Define the kernels of this family."""
    generic: Callable[..., tuple[Any, Any, Any]] = kernel.kernels["native_layer_norm"].fn

    @kernel.named("native_layer_norm")
    def native_layer_norm(
        input: Any, normalized_shape: Sequence[int], weight: Any, bias: Any, eps: float
    ) -> tuple[Any, Any, Any]:
        if input.dtype not in _FLOATS or not input.size:
            return generic(input, normalized_shape, weight, bias, eps)
        lead = check_layer_norm(input, normalized_shape, weight, bias)
        dtype, length = input.dtype, prod(input.shape[lead:])
        rows = input.reshape(-1, length)
        scale = None if weight is None else weight.reshape(length)
        shift = None if bias is None else bias.reshape(length)
        average = _average(length, dtype)
        epsilon = dtype.type(eps)
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
        for start in range(0, len(rows), step):
            block = slice(start, start + step)
            out, center, inverse = result[block], mean[block], rstd[block]
            numpy.dot(rows[block], average, out=center[:, 0])
            numpy.subtract(rows[block], center, out=out)
            numpy.dot(out * out, average, out=inverse[:, 0])
            numpy.add(inverse, epsilon, out=inverse)
            numpy.sqrt(inverse, out=inverse)
            numpy.reciprocal(inverse, out=inverse)
            numpy.multiply(out, inverse, out=out)
            if scale is not None:
                numpy.multiply(out, scale, out=out)
            if shift is not None:
                numpy.add(out, shift, out=out)
        return result.reshape(input.shape), mean.reshape(kept), rstd.reshape(kept)
