"""Activations in few passes over cache-sized blocks, with buffers reused."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy

from dovetail_aten.array_kernels import KernelTable, Numbers
from dovetail_aten.array_kernels.capabilities import Capabilities

from .constants import ones_of, zeros_of

_SINGLE = numpy.dtype(numpy.float32)
_FLOATS = (_SINGLE, numpy.dtype(numpy.float64))
_SMALL = 4096
"""Elements up to which the cost of a call outweighs that of its passes."""
_BLOCK = 1 << 15
_HALF = numpy.array(0.5, _SINGLE)
_MINUS_HALF = numpy.array(-0.5, _SINGLE)
_DENSITY = numpy.array(1 / math.sqrt(2 * math.pi), _SINGLE)
_BOUND = numpy.array(4.2 * math.sqrt(2), _SINGLE)
_MINUS_BOUND = numpy.array(-4.2 * math.sqrt(2), _SINGLE)
"""From here on the error function of x / sqrt(2) is 1 in single precision, and so is what
approximates it: were it not
quite 1, gelu would be far from 0 for large negative numbers."""
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


def define(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    """Define the kernels of this family."""
    numbers = Numbers(capabilities)
    zeros = {native: numbers.of_dtype(0, native) for native in capabilities.dtypes}
    ones = {native: numbers.of_dtype(1, native) for native in capabilities.dtypes}
    generic = {
        name: kernel.kernels[name].fn
        for name in ("relu", "sigmoid", "silu", "gelu", "gelu_backward", "threshold_backward")
    }
    infinity = {native: numbers.of_dtype(math.inf, native) for native in _FLOATS}
    maximum, boolean = numpy.maximum, numpy.dtype(bool)

    @kernel.named("relu")
    def relu(self: Any) -> Any:
        dtype = self.dtype
        if self.size <= _SMALL:
            if dtype is boolean:
                raise RuntimeError("Boolean inputs not supported for relu")
            if self.flags.c_contiguous:
                return maximum(
                    self, zeros_of(self.shape, dtype)
                )  # three times as fast as with one number
            return maximum(self, zeros[dtype])
        # On large arrays clip is three times as fast as maximum with a number.
        return (
            self.clip(zeros[dtype], infinity[dtype]) if dtype in _FLOATS else generic["relu"](self)
        )

    setattr(relu, "never_warns", True)  # noqa: B010  (a function's type knows no attributes)

    def sigmoid_into(x: Any, out: Any) -> Any:
        out = numpy.negative(x, out=out)
        numpy.exp(out, out=out)
        numpy.add(out, ones[x.dtype], out=out)
        return numpy.divide(ones[x.dtype], out, out=out)

    @kernel.named("sigmoid")
    def sigmoid(self: Any) -> Any:
        return in_blocks(sigmoid_into, self) if self.dtype in _FLOATS else generic["sigmoid"](self)

    def silu_into(x: Any, out: Any) -> Any:
        out = numpy.negative(x, out=out)
        numpy.exp(out, out=out)
        numpy.add(out, ones[x.dtype], out=out)
        return numpy.divide(x, out, out=out)

    @kernel.named("silu")
    def silu(self: Any) -> Any:
        return in_blocks(silu_into, self) if self.dtype in _FLOATS else generic["silu"](self)

    def gelu_into(x: Any, out: Any) -> Any:
        share = _erf_of_scaled(x)
        numpy.multiply(share, _HALF, out=share)
        numpy.add(share, _HALF, out=share)
        return numpy.multiply(share, x, out=out)

    @kernel.named("gelu")
    def gelu(self: Any, *, approximate: str = "none") -> Any:
        if approximate == "none" and self.dtype is _SINGLE:
            return in_blocks(gelu_into, self)
        return generic["gelu"](self, approximate=approximate)

    @kernel.named("gelu_backward")
    def gelu_backward(grad_output: Any, self: Any, *, approximate: str = "none") -> Any:
        shape = self.shape
        if approximate != "none" or self.dtype is not _SINGLE or grad_output.dtype is not _SINGLE:
            return generic["gelu_backward"](grad_output, self, approximate=approximate)
        result = numpy.empty(shape, _SINGLE)
        grad, x, out = grad_output.reshape(-1), self.reshape(-1), result.reshape(-1)
        for start in range(0, x.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            slope = _slope_of_gelu(x[block])
            numpy.multiply(slope, grad[block], out=out[block])
        return result

    where, less_equal, logical_not, multiply = (
        numpy.where,
        numpy.less_equal,
        numpy.logical_not,
        numpy.multiply,
    )

    @kernel.named("threshold_backward")
    def threshold_backward(grad_output: Any, self: Any, threshold: Any) -> Any:
        if threshold == 0 and self.size <= _SMALL:
            dropped = less_equal(self, zeros[self.dtype])
            if dropped.ndim and (grad_output.dtype is _SINGLE or grad_output.dtype in _FLOATS):
                # A product takes half the time of where, but makes NaN of the infinities that are
                # dropped.
                kept = multiply(grad_output, logical_not(dropped).astype(grad_output.dtype))
                if isfinite(kept.ravel().dot(ones_of(kept.size, kept.dtype))):
                    return kept
            return where(dropped, zeros[grad_output.dtype], grad_output)
        if (
            threshold == 0
            and grad_output.dtype is _SINGLE
            and self.dtype is _SINGLE
            and self.shape == grad_output.shape
        ):
            # Choosing by bits is twice as fast as where; a product with the mask would make NaN of
            # infinity.
            mask = numpy.subtract((self <= 0).view(numpy.int8), 1, dtype=numpy.int32)
            if mask.ndim and grad_output.flags.c_contiguous:
                return numpy.bitwise_and(mask, grad_output.view(numpy.int32), out=mask).view(
                    numpy.float32
                )
        return generic["threshold_backward"](grad_output, self, threshold)
