"""Softmax and its logarithm: on small arrays of few classes by products with ones and repeated
columns, since there NumPy's reductions and broadcasts along rows cost many times what their numbers
do; on large ones block by block. Softmax takes the maximum out where exponentials need it, which
their sums show.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf, prod
from typing import Any

import numpy

from dovetail_aten.array_kernels import wrap_dim
from dovetail_aten.array_kernels.softmax import Softmax

from .constants import ones_of, starts_of_rows
from .extrema_of_rows import extrema_of_rows
from .repeating import across
from .scratch import BLOCK_BYTES, Scratch
from .silence import LONG_ROW, row_by_row
from .sums_along import TALL, sum_along_middle
from .threads import ROWS_TOGETHER, run_pieces, shared_step

_SINGLE = numpy.dtype(numpy.float32)
_FLOATS = (_SINGLE, numpy.dtype(numpy.float64))
_highest: Any = numpy.maximum.reduce
_add: Any = numpy.add.reduce
_contiguous, _exp, _log = numpy.ascontiguousarray, numpy.exp, numpy.log
_subtract, _divide, _multiply = numpy.subtract, numpy.divide, numpy.multiply
_sum_of = numpy.add
_FEW_CLASSES = 256
"""Length of the rows up to which a product with ones sums them."""
_LEAST_SUM, _GREATEST_SUM = 1e-4, 1e15
"""Sums of exponentials that single precision holds together with all shares in them that it holds:
the maximum need not be taken out.
"""
_SMALL = 4096
"""Elements up to which repeating a column costs less than broadcasting it."""
_FEW_ROWS = 100
"""Rows up to which finding the places of their maxima costs less than a copy."""
_BLOCK = 1 << 16
"""Elements at a time."""
_LONGEST = 1 << 12
"""Longest sum left to BLAS, which does not add pairwise."""


def _greatest_of_rows(rows: Any) -> Any:
    """Return the maxima of the rows of a small matrix."""
    count, length = rows.shape
    if count <= _FEW_ROWS:
        return rows.take(_sum_of(rows.argmax(1), starts_of_rows(count, length)))
    # Down the columns of a copy: a reduction of many short rows costs more than the copy.
    return _highest(_contiguous(rows.T), 0)


def is_small(array: Any, dim: int) -> bool:
    """Return whether `array` is small and of few classes, which lie along its last dimension
    `dim`.
    """
    ndim = array.ndim
    return (
        (dim == -1 or dim == ndim - 1)
        and 0 < array.size <= _SMALL
        and ndim > 0
        and array.shape[-1] <= _FEW_CLASSES
        and (array.dtype is _SINGLE or array.dtype in _FLOATS)
    )


def are_within(sums: Any) -> bool:
    """Return whether the exponentials that have these sums were exact without a maximum taken out:
    those of a NaN were not.
    """
    return bool(sums.item(sums.argmin()) > _LEAST_SUM and sums.item(sums.argmax()) < _GREATEST_SUM)


def _small_softmax(x: Any) -> Any:
    """Return the softmax of every row of an array that `is_small`."""
    shape = x.shape
    rows = x if len(shape) == 2 else x.reshape(-1, shape[-1])
    classes = shape[-1]
    ones = ones_of(classes, rows.dtype)
    result = _exp(rows, order="C")
    total = result.dot(ones)
    if not are_within(total):
        _subtract(rows, across(_greatest_of_rows(rows), classes), result)
        total = _exp(result, result).dot(ones)
    result = _divide(result, across(total, classes), result)
    return result if len(shape) == 2 else result.reshape(shape)


def small_log_softmax(x: Any) -> Any:
    """Return the logarithm of the softmax of every row of an array that `is_small`."""
    shape = x.shape
    rows = x if len(shape) == 2 else x.reshape(-1, shape[-1])
    classes = shape[-1]
    # Without the maximum taken out, what the most probable class has would lose digits.
    result = _subtract(rows, across(_greatest_of_rows(rows), classes))
    total = _exp(result).dot(ones_of(classes, rows.dtype))
    result = _subtract(result, across(_log(total, total), classes), result)
    return result if len(shape) == 2 else result.reshape(shape)


def _small_gradient(grad: Any, output: Any) -> Any:
    """Return the gradient of the softmax of every row, from its result that `is_small`."""
    shape = output.shape
    classes = shape[-1]
    if len(shape) != 2:
        grad, output = grad.reshape(-1, classes), output.reshape(-1, classes)
    result = _multiply(grad, output)
    total = across(result.dot(ones_of(classes, output.dtype)), classes)
    result = _multiply(output, _subtract(grad, total, total), total)
    return result if len(shape) == 2 else result.reshape(shape)


def _small_log_gradient(grad: Any, output: Any) -> Any:
    """Return the gradient of its logarithm."""
    shape = output.shape
    classes = shape[-1]
    if len(shape) != 2:
        grad, output = grad.reshape(-1, classes), output.reshape(-1, classes)
    result = _exp(output)
    total = grad.dot(ones_of(classes, output.dtype))
    _multiply(result, across(total, classes), result)
    result = _subtract(grad, result, result)
    return result if len(shape) == 2 else result.reshape(shape)


def _is_small_along(array: Any, axis: int) -> bool:
    """Return whether `array` would be small were `axis` its last dimension."""
    return bool(array.size <= _SMALL and array.shape[axis] <= _FEW_CLASSES)


def _turned(function: Any, axis: int, *arrays: Any) -> Any:
    """Return the function of rows of small arrays whose rows lie along `axis`."""
    there, back = _tables_along(arrays[0].shape, axis)
    return function(*[each.take(there) for each in arrays]).take(back)


@lru_cache(64)
def _tables_along(shape: tuple[int, ...], axis: int) -> tuple[Any, Any]:
    """Return where in an array the elements of its rows along `axis` are, and where in the rows
    those of the array.
    """
    places: Any = numpy.arange(prod(shape)).reshape(shape)
    there = numpy.moveaxis(places, axis, -1).reshape(-1, shape[axis])
    return there, there.reshape(-1).argsort().reshape(shape)


def _along(function: Any, axis: int, *arrays: Any) -> Any:
    """Return ``function(result, axis, *blocks)``, which writes its result, of arrays in C order
    that are parted along another dimension than `axis`.
    """
    shape = arrays[0].shape
    result = numpy.empty(shape, arrays[0].dtype)
    lead, length, inner = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
    form = (lead, length) if inner == 1 else (lead, length, inner)
    parts = [each.reshape(form) for each in (result, *arrays)]
    step = shared_step(max(1, _BLOCK // (length * inner)), lead, result.size, ROWS_TOGETHER)

    if form[-1] >= LONG_ROW:
        function = row_by_row(function)

    def compute(first: int, last: int) -> None:
        for start in range(first * step, min(last * step, lead), step):
            function(1, *[each[start : start + step] for each in parts])

    run_pieces(compute, -(-lead // step), result.size)
    return result


def _greatest(x: Any, axis: int) -> Any:
    """Return the maxima along `axis`, which stays."""
    return extrema_of_rows(x)[:, None] if x.ndim == 2 else _highest(x, axis, None, None, True)


def _sum(x: Any, axis: int) -> Any:
    """Return the sums along `axis`, which stays: of rows by BLAS where they are short, of columns
    where they are long.
    """
    if x.ndim == 2:
        if x.shape[1] <= _LONGEST:
            return x.dot(ones_of(x.shape[1], x.dtype))[:, None]
    elif x.shape[1] > TALL:
        return sum_along_middle(x)[:, None]
    return _add(x, axis, None, None, True)


def _softmax_of(axis: int, result: Any, x: Any) -> None:
    _exp(x, out=result)
    total = _sum(result, axis)
    if not are_within(total):
        _subtract(x, _greatest(x, axis), out=result)
        _exp(result, out=result)
        total = _sum(result, axis)
    _multiply(result, numpy.reciprocal(total, out=total), out=result)


def _safe_softmax_of(axis: int, result: Any, x: Any) -> None:
    _exp(x, out=result)
    total = _sum(result, axis)
    if not are_within(total):
        greatest = _greatest(x, axis)
        # Of what is all minus infinity, powers are 0 and so is their sum: both are to stay.
        greatest[numpy.equal(greatest, -inf)] = 0
        _subtract(x, greatest, out=result)
        _exp(result, out=result)
        total = _sum(result, axis)
        total[numpy.equal(total, 0)] = 1
    _multiply(result, numpy.reciprocal(total, out=total), out=result)


def _log_softmax_of(axis: int, result: Any, x: Any) -> None:
    _subtract(x, _greatest(x, axis), out=result)
    if result.nbytes > BLOCK_BYTES:
        total = _sum(_exp(result), axis)
    else:
        with Scratch() as memory:
            power = memory[0, : result.nbytes].view(result.dtype).reshape(result.shape)
            total = _sum(_exp(result, power), axis)
    _subtract(result, _log(total, out=total), out=result)


def _softmax_gradient_of(axis: int, result: Any, grad: Any, output: Any) -> None:
    if grad.ndim == 2:
        total = numpy.vecdot(grad, output)[:, None]
    else:
        total = _sum(_multiply(grad, output, out=result), axis)
    _subtract(grad, total, out=result)
    _multiply(result, output, out=result)


def _log_softmax_gradient_of(axis: int, result: Any, grad: Any, output: Any) -> None:
    _exp(output, out=result)
    _multiply(result, _sum(grad, axis), out=result)
    _subtract(grad, result, out=result)


class FastSoftmax(Softmax):
    """Softmax and its logarithm, of small matrices without NumPy's iterator, of large arrays in
    blocks.
    """

    def softmax(self, x: Any, dim: int, half_to_float: bool) -> Any:
        """Return ``exp(x) / sum(exp(x))`` along `dim`, with the maximum taken out."""
        if half_to_float:
            return Softmax.softmax(self, x, dim, half_to_float)
        if is_small(x, dim):
            return _small_softmax(x)
        if x.dtype not in _FLOATS or not x.size or not x.ndim:
            return Softmax.softmax(self, x, dim, half_to_float)
        axis = wrap_dim(dim, x.ndim)
        if _is_small_along(x, axis):
            return _turned(_small_softmax, axis, x)
        return _along(_softmax_of, axis, _contiguous(x))

    def safe_softmax(self, x: Any, dim: int, dtype: Any = None) -> Any:
        """Return `softmax`, and 0 where all elements along `dim` are minus infinity."""
        own = x.dtype
        if own not in _FLOATS or dtype not in (None, own) or not x.size or not x.ndim:
            return Softmax.safe_softmax(self, x, dim, dtype)
        return _along(_safe_softmax_of, wrap_dim(dim, x.ndim), _contiguous(x))

    def log_softmax(self, x: Any, dim: int, half_to_float: bool) -> Any:
        """Return ``x - log(sum(exp(x)))`` along `dim`, with the maximum taken out."""
        if half_to_float:
            return Softmax.log_softmax(self, x, dim, half_to_float)
        if is_small(x, dim):
            return small_log_softmax(x)
        if x.dtype not in _FLOATS or not x.size or not x.ndim:
            return Softmax.log_softmax(self, x, dim, half_to_float)
        axis = wrap_dim(dim, x.ndim)
        if _is_small_along(x, axis):
            return _turned(small_log_softmax, axis, x)
        return _along(_log_softmax_of, axis, _contiguous(x))

    def softmax_backward(self, grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
        """Return the gradient of `softmax`, from its result."""
        if (
            input_dtype is not output.dtype
            or grad_output.dtype is not input_dtype
            or grad_output.shape != output.shape
            or output.dtype not in _FLOATS
            or not output.size
            or not output.ndim
        ):
            return Softmax.softmax_backward(self, grad_output, output, dim, input_dtype)
        if not is_small(output, dim):
            axis = wrap_dim(dim, output.ndim)
            if _is_small_along(output, axis):
                return _turned(_small_gradient, axis, grad_output, output)
            return _along(_softmax_gradient_of, axis, _contiguous(grad_output), _contiguous(output))
        return _small_gradient(grad_output, output)

    def log_softmax_backward(
        self, grad_output: Any, output: Any, dim: int, input_dtype: Any
    ) -> Any:
        """Return the gradient of `log_softmax`, from its result."""
        if (
            input_dtype is not output.dtype
            or grad_output.dtype is not input_dtype
            or grad_output.shape != output.shape
            or output.dtype not in _FLOATS
            or not output.size
            or not output.ndim
        ):
            return Softmax.log_softmax_backward(self, grad_output, output, dim, input_dtype)
        if not is_small(output, dim):
            axis = wrap_dim(dim, output.ndim)
            if _is_small_along(output, axis):
                return _turned(_small_log_gradient, axis, grad_output, output)
            return _along(
                _log_softmax_gradient_of, axis, _contiguous(grad_output), _contiguous(output)
            )
        return _small_log_gradient(grad_output, output)
