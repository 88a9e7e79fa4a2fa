"""Softmax and its logarithm: on small matrices of few classes by products with ones and repeated
columns.

There NumPy's reductions and broadcasts along rows cost many times what their numbers do.
"""

from __future__ import annotations

from typing import Any

import numpy

from dovetail_aten.array_kernels import KernelTable, wrap_dim
from dovetail_aten.array_kernels.capabilities import Capabilities

from .constants import ones_of

_SINGLE = numpy.dtype(numpy.float32)
_FLOATS = (_SINGLE, numpy.dtype(numpy.float64))
_highest: Any = numpy.maximum.reduce
_contiguous, _exp, _log, _subtract = numpy.ascontiguousarray, numpy.exp, numpy.log, numpy.subtract
_FEW_CLASSES = 256
"""Length of the rows up to which a product with ones sums them."""
_SMALL = 4096
"""Elements up to which repeating a column costs less than broadcasting it."""


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


def small_log_softmax(rows: Any) -> Any:
    """Return the logarithm of the softmax of every row of an array that `is_small`."""
    shape = rows.shape
    classes = shape[1]
    # `across`, without a frame of its own. The maximum down the columns of a copy, as in `softmax`.
    result = _subtract(rows, _highest(_contiguous(rows.T), 0).repeat(classes).reshape(shape))
    total = _exp(result).dot(ones_of(classes, rows.dtype))
    return _subtract(result, _log(total, out=total).repeat(classes).reshape(shape), out=result)


def define(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    """Define the kernels of this family."""
    _define_forward(kernel)
    _define_backward(kernel)


def _define_forward(kernel: KernelTable) -> None:
    generic = {name: kernel.kernels[name].fn for name in ("_softmax", "_log_softmax")}
    reduce_max: Any = numpy.maximum.reduce
    reduce_sum: Any = numpy.add.reduce
    exp, log, subtract, divide = numpy.exp, numpy.log, numpy.subtract, numpy.divide
    contiguous = numpy.ascontiguousarray

    @kernel.named("_softmax")
    def softmax(self: Any, dim: int, half_to_float: bool) -> Any:
        if half_to_float:
            return generic["_softmax"](self, dim, half_to_float)
        if is_small(self, dim):
            classes = self.shape[1]
            # The maximum down the columns of a copy: many short rows cost more than the copy.
            result = subtract(self, across(reduce_max(contiguous(self.T), 0), classes))
            exp(result, out=result)
            return divide(
                result, across(result.dot(ones_of(classes, self.dtype)), classes), out=result
            )
        if self.dtype not in _FLOATS or not self.size or not self.ndim:
            return generic["_softmax"](self, dim, half_to_float)
        axis = wrap_dim(dim, self.ndim)
        # The result is to lie in C order, as the kernel's other ways have it.
        self = contiguous(self)
        result = self - reduce_max(self, axis, None, None, True)
        exp(result, out=result)
        return divide(result, reduce_sum(result, axis, None, None, True), out=result)

    @kernel.named("_log_softmax")
    def log_softmax(self: Any, dim: int, half_to_float: bool) -> Any:
        if half_to_float:
            return generic["_log_softmax"](self, dim, half_to_float)
        if is_small(self, dim):
            return small_log_softmax(self)
        if self.dtype not in _FLOATS or not self.size or not self.ndim:
            return generic["_log_softmax"](self, dim, half_to_float)
        axis = wrap_dim(dim, self.ndim)
        # The result is to lie in C order, as the kernel's other ways have it.
        self = contiguous(self)
        result = self - reduce_max(self, axis, None, None, True)
        if axis == 1 and self.ndim == 2 and self.shape[1] <= _FEW_CLASSES:
            total = exp(result).dot(ones_of(self.shape[1], self.dtype))
            return subtract(result, log(total, out=total)[:, None], out=result)
        total = reduce_sum(exp(result), axis, None, None, True)
        return subtract(result, log(total, out=total), out=result)


def _define_backward(kernel: KernelTable) -> None:
    generic = {
        name: kernel.kernels[name].fn
        for name in ("_softmax_backward_data", "_log_softmax_backward_data")
    }
    exp, multiply, subtract = numpy.exp, numpy.multiply, numpy.subtract

    @kernel.named("_softmax_backward_data")
    def softmax_backward(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
        if (
            input_dtype is not output.dtype
            or grad_output.dtype is not input_dtype
            or not is_small(output, dim)
        ):
            return generic["_softmax_backward_data"](grad_output, output, dim, input_dtype)
        classes = output.shape[1]
        result = multiply(grad_output, output)
        total = across(result.dot(ones_of(classes, input_dtype)), classes)
        return subtract(result, multiply(output, total, out=total), out=result)

    @kernel.named("_log_softmax_backward_data")
    def log_softmax_backward(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
        if (
            input_dtype is not output.dtype
            or grad_output.dtype is not input_dtype
            or not is_small(output, dim)
        ):
            return generic["_log_softmax_backward_data"](grad_output, output, dim, input_dtype)
        classes = output.shape[1]
        result = exp(output)
        multiply(
            result, across(grad_output.dot(ones_of(classes, input_dtype)), classes), out=result
        )
        return subtract(grad_output, result, out=result)
