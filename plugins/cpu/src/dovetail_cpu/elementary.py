"""Elementary functions in single precision by those that NumPy has vector instructions for.

On most processors NumPy's own `log1p` and `expm1` call the mathematics library for every element,
ten times as slow as its `log` and `exp`. With AVX-512 it is the other way: there `expm1` takes half
of the time of `exp`, so that powers that a number is added to are better taken by it.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy

from dovetail_aten.kernel_support import KernelTable
from dovetail_aten.kernel_support.namespace_names import with_names

from .blocks import BLOCK_BYTES, written
from .quick_functions import QUICK_FUNCTIONS, clip
from .vector_functions import FAST

__all__ = [
    "BASE_TWO",
    "POWERS",
    "TUNED",
    "define_elementary",
    "expm1",
    "log1p",
    "write_expm1",
    "write_log1p",
    "write_one_plus_power",
]

_SINGLE: Final = numpy.dtype(numpy.float32)
_FEW: Final = 256
"""Elements up to which the cost of the steps outweighs what they save."""
_MANY: Final = 4096
"""Elements from which clip is faster than `maximum`."""
_NONE: Final = {
    none: {each: numpy.array(none, each) for each in map(numpy.dtype, ("f4", "f8"))}
    for none in (math.inf, -math.inf)
}
"""Bounds that are none, of each dtype."""
_SIGN: Final = numpy.array(-(1 << 31), numpy.int32)
_ONE: Final = numpy.array(1, _SINGLE)
_BOUND: Final = numpy.array(0.5, _SINGLE)
_MINUS_BOUND: Final = numpy.array(-0.5, _SINGLE)
_SERIES: Final = [numpy.array(1 / each, _SINGLE) for each in (5040, 720, 120, 24, 6, 2)]
"""Coefficients of ``(exp(x) - 1 - x) / x ** 2``, of which within the bounds the rest is below the
precision.
"""
BASE_TWO: Final = "exp2" in FAST
"""Whether powers of 2 take less time in float32 than those of e."""
POWERS: Final = {
    dtype: (numpy.expm1, numpy.array(2, dtype))
    if dtype == _SINGLE and "expm1" in FAST
    else (numpy.exp, numpy.array(1, dtype))
    for dtype in map(numpy.dtype, (numpy.float32, numpy.float64))
}
"""A power, or what it exceeds 1 by, and the number that makes one plus the power of it."""


def log1p(x: Any) -> Any:
    """Return ``log(1 + x)``, accurate where `x` is small."""
    return numpy.log1p(x) if "log1p" in FAST else _computed(x, numpy.log1p, write_log1p, 1)


def expm1(x: Any) -> Any:
    """Return ``exp(x) - 1``, accurate where `x` is small."""
    return numpy.expm1(x) if "expm1" in FAST else _computed(x, numpy.expm1, write_expm1, 2)


def _computed(x: Any, ufunc: Any, write: Any, rooms: int) -> Any:
    """Return what `write` writes of many float32 elements, else ``ufunc(x)``."""
    size = x.size
    if x.dtype is not _SINGLE or size <= _FEW:
        return ufunc(x)
    if size > BLOCK_BYTES // 4 and (made := written(write, rooms, (x,), {})) is not None:
        return made
    result = numpy.add(x, _ONE)  # in the order of memory that NumPy chooses
    write(result, *[numpy.empty_like(result) for _ in range(rooms)], x)
    return result


def maximum(x: Any, other: Any) -> Any:
    """Return the greater of elements; beside a number by clip, which has vector instructions."""
    return _bounded(numpy.maximum, x, other, math.inf, 0)


def minimum(x: Any, other: Any) -> Any:
    """Return the lesser of elements; beside a number by clip, which has vector instructions."""
    return _bounded(numpy.minimum, x, other, -math.inf, 1)


def _bounded(ufunc: Any, x: Any, other: Any, none: float, place: int) -> Any:
    array, bound = (x, other) if x.size > other.size else (other, x)
    if array.size < _MANY or bound.ndim or array.dtype not in _NONE[none]:
        return ufunc(x, other)
    if bound.dtype != array.dtype:
        return ufunc(x, other)
    bounds = [bound, _NONE[none][array.dtype]]
    return clip(array, bounds[place], bounds[1 - place])


def write_one_plus_power(out: Any, x: Any) -> None:
    """Write ``1 + exp(x)`` of an array of single or double precision, which may be `out`."""
    power, rest = POWERS[out.dtype]
    power(x, out)
    numpy.add(out, rest, out)


def write_log1p(out: Any, lost: Any, x: Any) -> None:
    """Write ``log(u) + (x - (u - 1)) / u`` for ``u = 1 + x``: what rounding took off is added."""
    if "log1p" in FAST:
        numpy.log1p(x, out)
        return
    numpy.add(x, _ONE, out)
    numpy.subtract(out, _ONE, lost)
    numpy.subtract(x, lost, lost)
    numpy.divide(lost, out, lost)
    numpy.log(out, out)
    numpy.add(out, lost, out)
    if not numpy.isfinite(numpy.add.reduce(out, None)):
        # Infinities, NaN, and numbers up to -1.
        odd = numpy.logical_not(numpy.isfinite(out))
        out[odd] = numpy.log1p(x[odd])
    _sign(out, lost, x)


def write_expm1(out: Any, near: Any, series: Any, x: Any) -> None:
    """Write ``exp(x) - 1``, within the bounds by its series."""
    if "expm1" in FAST:
        numpy.expm1(x, out)
        return
    clip(x, _MINUS_BOUND, _BOUND, near)
    numpy.multiply(near, _SERIES[0], series)
    for coefficient in _SERIES[1:]:
        numpy.add(series, coefficient, series)
        numpy.multiply(series, near, series)
    numpy.multiply(series, near, series)
    numpy.add(series, near, series)
    numpy.exp(x, out)
    numpy.subtract(out, _ONE, out)
    # Chosen by bits: where x is within the bounds, clipping has changed nothing.
    bits, other, within = [each.view(numpy.int32) for each in (out, series, near)]
    numpy.equal(near, x, out=within)
    numpy.bitwise_xor(other, bits, other)
    numpy.multiply(other, within, other)
    numpy.bitwise_xor(bits, other, bits)
    _sign(out, near, x)


def _sign(out: Any, room: Any, x: Any) -> None:
    """Give `out` the sign of `x`, which all of it has but what should be -0."""
    bits, sign = out.view(numpy.int32), room.view(numpy.int32)
    numpy.bitwise_and(x.view(numpy.int32), _SIGN, sign)
    numpy.bitwise_or(bits, sign, bits)


TUNED: Final = with_names(numpy, undispatched=True, quick=QUICK_FUNCTIONS)
"""NumPy's names as the families of kernels see them, with the functions of this module."""
setattr(TUNED, "log1p", log1p)  # noqa: B010  (a module's type knows no attributes)
setattr(TUNED, "expm1", expm1)  # noqa: B010
setattr(TUNED, "maximum", maximum)  # noqa: B010
setattr(TUNED, "minimum", minimum)  # noqa: B010


def define_elementary(xp: Any, kernel: KernelTable, capabilities: Any) -> None:
    """Define the kernels of this module in a table, in the place of NumPy's functions."""
    kernel("log1p", log1p, out_function=numpy.log1p)
    kernel("expm1", expm1, out_function=numpy.expm1)
