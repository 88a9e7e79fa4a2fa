"""Softmax and its logarithm: on small matrices of few classes by products with ones and repeated
columns, since there NumPy's reductions and broadcasts along rows cost many times what their numbers
do; on large ones block by block.
"""

from __future__ import annotations

from math import inf, prod
from typing import Any

import numpy

from dovetail_aten.array_kernels import wrap_dim
from dovetail_aten.array_kernels.softmax import Softmax

from .constants import ones_of
from .threads import run_pieces

_SINGLE = numpy.dtype(numpy.float32)
_FLOATS = (_SINGLE, numpy.dtype(numpy.float64))
_highest: Any = numpy.maximum.reduce
_add: Any = numpy.add.reduce
_contiguous, _exp, _log = numpy.ascontiguousarray, numpy.exp, numpy.log
_subtract, _divide, _multiply = numpy.subtract, numpy.divide, numpy.multiply
_FEW_CLASSES = 256
"""Length of the rows up to which a product with ones sums them."""
_SAFE = 80.0
"""Numbers within these bounds have exponentials, and sums of some hundred, that single precision
holds: the maximum need not be taken out.
"""
_SMALL = 4096
"""Elements up to which repeating a column costs less than broadcasting it."""
_BLOCK = 1 << 16
"""Elements at a time."""
_LONGEST = 1 << 12
"""Longest sum left to BLAS, which does not add pairwise."""


def across(column: Any, length: int) -> Any:
    """Return the vector `column` as the matrix with that column `length` times."""
    return column.repeat(length).reshape(-1, length)


def is_small(array: Any, dim: int) -> bool:
    """Return whether `array` is a small matrix of few classes, and `dim` runs over these."""
    return (
        array.ndim == 2
        and dim in (1, -1)
        and 0 < array.size <= _SMALL
        and array.shape[1] <= _FEW_CLASSES
        and (array.dtype is _SINGLE or array.dtype in _FLOATS)
    )


def is_safe(array: Any) -> bool:
    """Return whether the exponentials of an array need no maximum taken out: a NaN's do."""
    least: Any = array.item(array.argmin())
    return bool(array.item(array.argmax()) < _SAFE and least > -_SAFE)


def small_log_softmax(rows: Any) -> Any:
    """Return the logarithm of the softmax of every row of an array that `is_small`."""
    shape = rows.shape
    classes = shape[1]
    # `across`, without a frame of its own. The maximum down the columns of a copy, as in `softmax`.
    result = _subtract(rows, _highest(_contiguous(rows.T), 0).repeat(classes).reshape(shape))
    total = _exp(result).dot(ones_of(classes, rows.dtype))
    return _subtract(result, _log(total, out=total).repeat(classes).reshape(shape), out=result)


def _along(function: Any, axis: int, *arrays: Any) -> Any:
    """Return ``function(result, axis, *blocks)``, which writes its result, of arrays in C order
    that are parted along another dimension than `axis`.
    """
    shape = arrays[0].shape
    result = numpy.empty(shape, arrays[0].dtype)
    lead, length, inner = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
    form = (lead, length) if inner == 1 else (lead, length, inner)
    parts = [each.reshape(form) for each in (result, *arrays)]
    step = max(1, _BLOCK // (length * inner))

    def compute(first: int, last: int) -> None:
        for start in range(first * step, min(last * step, lead), step):
            function(1, *[each[start : start + step] for each in parts])

    run_pieces(compute, -(-lead // step), result.size)
    return result


def _sum(x: Any, axis: int) -> Any:
    """Return the sums along `axis`, which stays: of rows by BLAS where they are short."""
    if x.ndim == 2 and x.shape[1] <= _LONGEST:
        return x.dot(ones_of(x.shape[1], x.dtype))[:, None]
    return _add(x, axis, None, None, True)


def _softmax_of(axis: int, result: Any, x: Any) -> None:
    _subtract(x, _highest(x, axis, None, None, True), out=result)
    _exp(result, out=result)
    total = _sum(result, axis)
    _multiply(result, numpy.reciprocal(total, out=total), out=result)


def _safe_softmax_of(axis: int, result: Any, x: Any) -> None:
    greatest = _highest(x, axis, None, None, True)
    # Of what is all minus infinity, powers are 0 and so is their sum: both are to stay.
    greatest[numpy.equal(greatest, -inf)] = 0
    _subtract(x, greatest, out=result)
    _exp(result, out=result)
    total = _sum(result, axis)
    total[numpy.equal(total, 0)] = 1
    _multiply(result, numpy.reciprocal(total, out=total), out=result)


def _log_softmax_of(axis: int, result: Any, x: Any) -> None:
    _subtract(x, _highest(x, axis, None, None, True), out=result)
    total = _sum(_exp(result), axis)
    _subtract(result, _log(total, out=total), out=result)


def _softmax_gradient_of(axis: int, result: Any, grad: Any, output: Any) -> None:
    _multiply(grad, output, out=result)
    _subtract(grad, _sum(result, axis), out=result)
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
            classes = x.shape[1]
            if is_safe(x):
                result = _exp(x, order="C")
                return _divide(
                    result, across(result.dot(ones_of(classes, x.dtype)), classes), out=result
                )
            # The maximum down the columns of a copy: many short rows cost more than the copy.
            result = _subtract(x, across(_highest(_contiguous(x.T), 0), classes), order="C")
            _exp(result, out=result)
            return _divide(
                result, across(result.dot(ones_of(classes, x.dtype)), classes), out=result
            )
        if x.dtype not in _FLOATS or not x.size or not x.ndim:
            return Softmax.softmax(self, x, dim, half_to_float)
        # The result is to lie in C order, as the kernel's other ways have it.
        return _along(_softmax_of, wrap_dim(dim, x.ndim), _contiguous(x))

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
        return _along(_log_softmax_of, wrap_dim(dim, x.ndim), _contiguous(x))

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
            return _along(_softmax_gradient_of, axis, _contiguous(grad_output), _contiguous(output))
        classes = output.shape[1]
        result = _multiply(grad_output, output)
        total = across(result.dot(ones_of(classes, input_dtype)), classes)
        return _multiply(output, _subtract(grad_output, total, out=total), out=total)

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
            return _along(
                _log_softmax_gradient_of, axis, _contiguous(grad_output), _contiguous(output)
            )
        classes = output.shape[1]
        result = _exp(output)
        _multiply(
            result, across(grad_output.dot(ones_of(classes, input_dtype)), classes), out=result
        )
        return _subtract(grad_output, result, out=result)
