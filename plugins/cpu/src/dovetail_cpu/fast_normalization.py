"""Layer normalization by blocks of rows that stay in the cache."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy

from dovetail_aten.families.normalization.kernels.normalization import (
    Normalization,
    check_layer_norm,
)

from .constants import ones_of
from .products import dot
from .repeating import across, down
from .scratch import BLOCK_BYTES, Scratch
from .silence import LONG_ROW, row_by_row
from .threads import ROWS_TOGETHER, run_pieces, shared_step

_FLOATS = tuple(map(numpy.dtype, (numpy.float32, numpy.float64)))
_BLOCK = 1 << 16
"""Elements at a time."""
_SMALL = 4096
"""Elements up to which repeating a column costs less than broadcasting it."""
_SHORT = 64
"""Length of rows below which a product for each costs more than one for all."""
_FAR = 64.0
"""Deviations that a mean may be away from 0 for sums of products not to lose many digits."""
_add: Any = numpy.add.reduce
_sum, _subtract, _multiply = numpy.add, numpy.subtract, numpy.multiply
_sqrt, _reciprocal = numpy.sqrt, numpy.reciprocal


@lru_cache(64)
def _average(length: int, dtype: Any) -> Any:
    """Return the vector whose product with a row is the mean of the row."""
    return numpy.full(length, 1 / length, dtype)


def _normalize(
    rows: Any,
    epsilon: Any,
    scale: Any,
    shift: Any,
    out: Any = None,
    mean: Any = None,
    rstd: Any = None,
    room: Any = None,
) -> tuple[Any, Any, Any]:
    """Return normalized rows, their means and reciprocal deviations, written to memory that is
    given for them; `room` is memory for as many rows.

    A pass over two whole blocks takes half the time of one with a row or a column, which is why the
    reciprocals are multiplied by the weight first.
    """
    count, length = rows.shape
    average, is_small = _average(length, rows.dtype), rows.size <= _SMALL
    mean = dot(rows, average, mean)
    out = _subtract(rows, across(mean, length) if is_small else mean[:, None], out)
    if length < _SHORT:
        rstd = dot(_multiply(out, out), average, rstd)
    else:
        rstd = numpy.vecdot(out, out, out=rstd)
        _multiply(rstd, average[0], rstd)
    _sum(rstd, epsilon, rstd)
    _sqrt(rstd, rstd)
    _reciprocal(rstd, rstd)
    if scale is None:
        _multiply(out, across(rstd, length) if is_small else rstd[:, None], out)
    else:
        _multiply(out, rstd[:, None].dot(scale[None], room), out)
    if shift is not None:
        _sum(out, down(shift, count) if shift.ndim == 1 else shift, out)
    return out, mean, rstd


def _is_long(count: int, length: int) -> bool:
    """Return whether rows are long enough for passes that go row by row, and fit into a block."""
    least = _SMALL if length >= 2 * LONG_ROW else _BLOCK
    return length >= LONG_ROW and count * length > least and length * 8 <= BLOCK_BYTES


@row_by_row
def _normalize_long(rows: Any, epsilon: Any, scale: Any, shift: Any) -> tuple[Any, Any, Any]:
    """Return normalized rows, their means and reciprocal deviations."""
    dtype, (count, length) = rows.dtype, rows.shape
    average = _average(length, dtype)
    result = numpy.empty(rows.shape, dtype)
    mean, rstd = numpy.empty(count, dtype), numpy.empty(count, dtype)
    step = BLOCK_BYTES // (length * dtype.itemsize)
    step = shared_step(step, count, rows.size, ROWS_TOGETHER)

    def compute(begin: int, end: int) -> None:
        with Scratch() as memory:
            room = memory[0].view(dtype)[: step * length].reshape(step, length)
            for start in range(begin * step, min(end * step, count), step):
                block = slice(start, start + step)
                some, out, inverse = rows[block], result[block], rstd[block]
                away = room[: len(some)]
                _subtract(some, dot(some, average, mean[block])[:, None], away)
                numpy.vecdot(away, away, out=inverse)
                _multiply(inverse, average[0], inverse)
                _sum(inverse, epsilon, inverse)
                _reciprocal(_sqrt(inverse, inverse), inverse)
                last = away if scale is not None or shift is not None else out
                _multiply(away, inverse[:, None], last)
                if scale is not None:
                    _multiply(away, scale, away if shift is not None else out)
                if shift is not None:
                    _sum(away, shift, out)

    run_pieces(compute, -(-count // step), rows.size)
    return result, mean, rstd


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
        epsilon = self.numbers.of_dtype(eps, dtype)
        kept = input.shape[:lead] + (1,) * (input.ndim - lead)
        step = max(1, _BLOCK // length)
        if _is_long(*rows.shape):
            result, mean, rstd = _normalize_long(rows, epsilon, scale, shift)
        elif step >= len(rows):
            result, mean, rstd = _normalize(rows, epsilon, scale, shift)
        else:
            result = numpy.empty(rows.shape, dtype)
            mean, rstd = numpy.empty(len(rows), dtype), numpy.empty(len(rows), dtype)
            shift = None if shift is None else numpy.repeat(shift[None], step, 0)
            room = numpy.empty((step, length), dtype)
            for start in range(0, len(rows), step):
                block = slice(start, start + step)
                some = rows[block]
                own = None if shift is None else shift[: len(some)]
                _normalize(
                    *(some, epsilon, scale, own, result[block], mean[block], rstd[block]),
                    room[: len(some)],
                )
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
        """Return the gradients of layer normalization, by blocks of rows."""
        dtype = input.dtype
        inner = tuple(normalized_shape)
        length = prod(inner)
        if (
            dtype not in _FLOATS
            or not input.size
            or grad_out.dtype is not dtype
            or mean.dtype is not dtype
            or rstd.dtype is not dtype
            or (weight is not None and (weight.dtype is not dtype or weight.size != length))
            or (bias is not None and bias.dtype is not dtype)
            or grad_out.shape != input.shape
            or mean.size * length != input.size
            or rstd.size != mean.size
        ):
            return Normalization.native_layer_norm_backward(
                self, grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask
            )
        rows, grads = input.reshape(-1, length), grad_out.reshape(-1, length)
        centers, inverses = mean.reshape(-1), rstd.reshape(-1)
        needs_input, needs_weight, needs_bias = output_mask
        needs_weight = needs_weight and weight is not None
        if input.size <= _SMALL:
            scale = None if weight is None else weight.reshape(length)
            some = grads, rows, centers, inverses, scale, needs_input, needs_weight
            result, product = _small_gradients(*some)
            sums = ones_of(len(rows), dtype)
            return (
                result.reshape(input.shape) if needs_input else None,
                sums.dot(product).reshape(inner) if needs_weight else None,
                sums.dot(grads).reshape(inner) if needs_bias else None,
            )
        scale = ones_of(length, dtype) if weight is None else weight.reshape(length)
        result = numpy.empty(rows.shape, dtype) if needs_input else None
        gradients = _gradients_of_long if _is_long(*rows.shape) else _gradients
        to_weight: Any = None
        to_bias: Any = None
        step = max(1, _BLOCK // length)
        room = numpy.empty((min(step, len(rows)), length), dtype)
        for start in range(0, len(rows), step):
            block = slice(start, start + step)
            grad = grads[block]
            if needs_bias:
                to_bias = _plus(to_bias, dot(ones_of(len(grad), dtype), grad))
            if not needs_input and not needs_weight:
                continue
            gain = gradients(
                *(grad, rows[block], centers[block], inverses[block], scale),
                None if result is None else result[block],
                room[: len(grad)],
            )
            to_weight = _plus(to_weight, gain)
        return (
            None if result is None else result.reshape(input.shape),
            to_weight.reshape(inner) if needs_weight else None,
            to_bias.reshape(inner) if needs_bias else None,
        )


def _small_gradients(
    grad: Any,
    rows: Any,
    center: Any,
    inverse: Any,
    scale: Any,
    needs_input: bool,
    needs_product: bool,
) -> tuple[Any, Any]:
    """Return the gradient of some rows, and its product with the normalized rows, which sums along
    columns make that of the weight: few elements are passed over as they are, which takes fewer
    calls than `_gradients`.
    """
    if not needs_input and not needs_product:
        return None, None
    length = rows.shape[1]
    spread = across(inverse, length)
    normalized = _subtract(rows, across(center, length))
    _multiply(normalized, spread, normalized)
    product = _multiply(grad, normalized)
    if not needs_input:
        return None, product
    share = _average(length, rows.dtype)
    if scale is not None:
        share = _multiply(scale, share)
        grad_of_normalized = _multiply(grad, down(scale, len(rows)))
    else:
        grad_of_normalized = grad
    _multiply(normalized, across(product.dot(share), length), normalized)
    _sum(normalized, across(grad.dot(share), length), normalized)
    result = _subtract(grad_of_normalized, normalized, normalized)
    return _multiply(result, spread, result), product


def _plus(total: Any, more: Any) -> Any:
    return more if total is None else _sum(total, more, out=total)


def _gradients(
    grad: Any, rows: Any, center: Any, inverse: Any, scale: Any, out: Any, room: Any
) -> Any:
    """Return the gradient of the weight by some rows, and write that of the rows; `room` is memory
    for as many.

    It is ``a * grad * scale + b * x + c`` with three numbers for each row, which follow from sums
    along the row. Those of what lies far from its deviation would lose digits: it is centered
    before.
    """
    length = rows.shape[1]
    shift = _multiply(center, inverse)
    if numpy.absolute(shift).max() > _FAR:
        rows, shift = _subtract(rows, center[:, None]), numpy.zeros_like(shift)
        center = shift
    product = _multiply(grad, rows, room)
    gain = inverse.dot(product) - shift.dot(grad)
    if out is None:
        return gain
    total, along = grad.dot(scale), product.dot(scale)
    share = grad.dtype.type(1 / length)
    slope = (center * total - along) * inverse
    slope *= inverse
    slope *= inverse
    slope *= share
    rest = slope * center
    rest += total * inverse * share
    if length >= LONG_ROW:
        _multiply(grad, inverse[:, None], out)
        _multiply(out, scale, out)
    else:
        inverse[:, None].dot(scale[None], out)
        _multiply(out, grad, out)
    _sum(out, _multiply(rows, slope[:, None], out=product), out=out)
    _subtract(out, rest[:, None], out=out)
    return gain


_gradients_of_long = row_by_row(_gradients)
