"""Activations in few passes over cache-sized blocks, with buffers reused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from dovetail_aten.array_kernels import Function, KernelTable
from dovetail_aten.array_kernels.rectifiers import Rectifiers
from dovetail_aten.array_kernels.sigmoids import Sigmoids

from .constants import zeros_of

_SINGLE = numpy.dtype(numpy.float32)
_FLOATS = (_SINGLE, numpy.dtype(numpy.float64))
_BOOL = numpy.dtype(bool)
_BITS = {each: numpy.dtype(f"i{each.itemsize}") for each in _FLOATS}
_ONES = {each: numpy.array(1, each) for each in _FLOATS}
_INFINITY = {each: numpy.array(math.inf, each) for each in _FLOATS}
_maximum, _where, _less_equal = numpy.maximum, numpy.where, numpy.less_equal
_logical_not, _multiply = numpy.logical_not, numpy.multiply
_SMALL = 4096
"""Elements up to which the cost of a call outweighs that of its passes."""
_BLOCK = 1 << 15
_HALF = numpy.array(0.5, _SINGLE)
_MINUS_HALF = numpy.array(-0.5, _SINGLE)
_DENSITY = numpy.array(1 / math.sqrt(2 * math.pi), _SINGLE)
_BOUND = numpy.array(4.2 * math.sqrt(2), _SINGLE)
_MINUS_BOUND = numpy.array(-4.2 * math.sqrt(2), _SINGLE)
"""From here on the error function of x / sqrt(2) is 1 in single precision, and so is what
approximates it: were it not quite 1, gelu would be far from 0 for large negative numbers."""
_ATANH_OF_ERF = [
    numpy.array(coefficient * 0.5 ** (power + 0.5), _SINGLE)
    for power, coefficient in enumerate(
        (
            1.12837927,
            0.102769056,
            -0.000191830615,
            -0.000619784873,
            8.76374258e-05,
            -5.66849438e-06,
            1.41853436e-07,
        )
    )
]
"""erf(y) = tanh(y p(y²)) to a relative error of 3e-7 after rounding: p was fitted, and y = x /
sqrt(2) put in.

NumPy's tanh is so fast that this takes half the time of a rational function.
"""


def _erf_of_scaled(x: Any) -> Any:
    """Return erf(x / sqrt(2)) of a float32 array."""
    result = x.clip(_MINUS_BOUND, _BOUND)
    square = numpy.multiply(result, result)
    factor = numpy.multiply(square, _ATANH_OF_ERF[-1])
    for coefficient in _ATANH_OF_ERF[-2:0:-1]:
        numpy.add(factor, coefficient, out=factor)
        numpy.multiply(factor, square, out=factor)
    numpy.add(factor, _ATANH_OF_ERF[0], out=factor)
    numpy.multiply(result, factor, out=result)
    return numpy.tanh(result, out=result)


def _slope_of_gelu(x: Any) -> Any:
    """Return the derivative of the exact gelu: the distribution function plus x times the
    density.
    """
    share = _erf_of_scaled(x)
    numpy.multiply(share, _HALF, out=share)
    numpy.add(share, _HALF, out=share)
    density = numpy.multiply(x, x)
    numpy.multiply(density, _MINUS_HALF, out=density)
    numpy.exp(density, out=density)
    numpy.multiply(density, _DENSITY, out=density)
    numpy.multiply(density, x, out=density)
    return numpy.add(share, density, out=share)


def _sigmoid_into(x: Any, out: Any) -> Any:
    """Return ``1 / (1 + exp(-x))``, written into `out`."""
    out = numpy.negative(x, out=out)
    numpy.exp(out, out=out)
    numpy.add(out, _ONES[x.dtype], out=out)
    return numpy.divide(_ONES[x.dtype], out, out=out)


def _silu_into(x: Any, out: Any) -> Any:
    """Return ``x / (1 + exp(-x))``, written into `out`."""
    out = numpy.negative(x, out=out)
    numpy.exp(out, out=out)
    numpy.add(out, _ONES[x.dtype], out=out)
    return numpy.divide(x, out, out=out)


def _gelu_into(x: Any, out: Any) -> Any:
    """Return the exact gelu of a float32 array, written into `out`."""
    share = _erf_of_scaled(x)
    numpy.multiply(share, _HALF, out=share)
    numpy.add(share, _HALF, out=share)
    return numpy.multiply(share, x, out=out)


def never_warns(function: Function) -> Function:
    """Mark a kernel that has no need of the quiet error state: see `CpuArrays.may_warn`."""
    setattr(function, "never_warns", True)  # noqa: B010  (a function's type knows no attributes)
    return function


def in_blocks(into: Callable[[Any, Any], Any], array: Any) -> Any:
    """Return ``into(array, out)`` applied block by block, so that the passes of `into` stay in the
    cache.

    `into` makes its result if `out` is None.
    """
    if not array.ndim:
        return in_blocks(into, array.reshape(1)).reshape(())
    if array.size <= _BLOCK:
        return into(array, None)
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        array = numpy.ascontiguousarray(array)
    out = numpy.empty_like(array)
    source, target = array.ravel("K"), out.ravel("K")
    for start in range(0, source.size, _BLOCK):
        into(source[start : start + _BLOCK], target[start : start + _BLOCK])
    return out


class FastRectifiers(Rectifiers):
    """relu and its gradient."""

    @never_warns
    def relu(self, x: Any) -> Any:
        """Return ``max(x, 0)``: against an array of zeros where it is small, by clip where it is
        large.
        """
        dtype = x.dtype
        if x.size <= _SMALL:
            if dtype is _BOOL:
                raise RuntimeError("Boolean inputs not supported for relu")
            if x.flags.c_contiguous:
                # Three times as fast as with one number.
                return _maximum(zeros_of(x.shape, dtype), x)
            return _maximum(self._zeros[dtype], x)
        # On large arrays clip is three times as fast as maximum with a number.
        return (
            x.clip(self._zeros[dtype], _INFINITY[dtype])
            if dtype in _FLOATS
            else Rectifiers.relu(self, x)
        )

    def threshold_backward(self, grad_output: Any, x: Any, threshold: Any) -> Any:
        """Return the gradient of relu by a product or by bits, of other bounds as others do."""
        if threshold == 0 and x.size <= _SMALL:
            dropped = _less_equal(x, self._zeros[x.dtype])
            if dropped.ndim and (grad_output.dtype is _SINGLE or grad_output.dtype in _FLOATS):
                # A product with the bits takes half the time of where; one with the numbers would
                # make NaN of infinities that are dropped, and -0 of negative numbers.
                bits = grad_output.view(_BITS[grad_output.dtype])
                return _multiply(_logical_not(dropped), bits).view(grad_output.dtype)
            return _where(dropped, self._zeros[grad_output.dtype], grad_output)
        if (
            threshold == 0
            and grad_output.dtype is _SINGLE
            and x.dtype is _SINGLE
            and x.shape == grad_output.shape
        ):
            # Choosing by bits is twice as fast as where; a product with the mask would make NaN of
            # infinity.
            mask = numpy.subtract((x <= 0).view(numpy.int8), 1, dtype=numpy.int32)
            if mask.ndim and grad_output.flags.c_contiguous:
                return numpy.bitwise_and(mask, grad_output.view(numpy.int32), out=mask).view(
                    numpy.float32
                )
        return Rectifiers.threshold_backward(self, grad_output, x, threshold)


class FastSigmoids(Sigmoids):
    """sigmoid, silu and gelu in blocks."""

    def define_in(self, kernel: KernelTable) -> None:
        """Define the kernels; gelu has no other form for its default argument."""
        super().define_in(kernel)
        kernel("gelu", self.gelu)

    def sigmoid(self, x: Any) -> Any:
        """Return ``1 / (1 + exp(-x))``, block by block."""
        return in_blocks(_sigmoid_into, x) if x.dtype in _FLOATS else Sigmoids.sigmoid(self, x)

    def silu(self, x: Any) -> Any:
        """Return ``x * sigmoid(x)``, block by block."""
        return in_blocks(_silu_into, x) if x.dtype in _FLOATS else Sigmoids.silu(self, x)

    def gelu(self, x: Any, *, approximate: str = "none") -> Any:
        """Return gelu, in float32 block by block with an approximated error function."""
        if approximate == "none" and x.dtype is _SINGLE:
            return in_blocks(_gelu_into, x)
        return Sigmoids.gelu(self, x, approximate=approximate)

    def gelu_backward(self, grad_output: Any, x: Any, *, approximate: str = "none") -> Any:
        """Return the gradient of gelu, of the exact one in float32 block by block."""
        shape = x.shape
        if approximate != "none" or x.dtype is not _SINGLE or grad_output.dtype is not _SINGLE:
            return Sigmoids.gelu_backward(self, grad_output, x, approximate=approximate)
        result = numpy.empty(shape, _SINGLE)
        grad, flat, out = grad_output.reshape(-1), x.reshape(-1), result.reshape(-1)
        for start in range(0, flat.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            slope = _slope_of_gelu(flat[block])
            numpy.multiply(slope, grad[block], out=out[block])
        return result
