"""Functions of float32 numbers that compile to instructions for several numbers at once.

They are exact for infinities, NaN, zeros and subnormal numbers: a bound is put by a comparison that
NaN passes, and integers are read from bits, not converted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from . import double
from .bits import bits

real = np.float32
integer = np.int32
SIGN_SHIFT = np.int32(31)
MAGNITUDE = np.int32(0x7FFFFFFF)

_exact = njit(fastmath={"contract"}, error_model="numpy", forceinline=True)

_LOG2_E = real(1.44269504)
_MAGIC = real(12582912.0)  # 1.5 * 2**23: what is added to it is rounded to an integer
_MAGIC_BITS = np.int32(0x4B400000)
_LN2_HIGH, _LN2_LOW = real(0.693359375), real(-2.12194440e-4)
_RAISED_BIAS, _LOWERED = np.int32(127 + 64), real(2.0**-64)
_BIAS, _SHIFT, _ONE_BIT = np.int32(127), np.int32(23), np.int32(1)


@_exact
def _power_series(r: Any) -> Any:
    """Return ``exp(r) - 1`` of a number between -log(2) / 2 and log(2) / 2."""
    p = real(1.9875691500e-4)
    p = p * r + real(1.3981999507e-3)
    p = p * r + real(8.3334519073e-3)
    p = p * r + real(4.1665795894e-2)
    p = p * r + real(1.6666665459e-1)
    p = p * r + real(5.0000001201e-1)
    return p * (r * r) + r


@_exact
def exp(x: Any) -> Any:
    """Return the power of e, to an error of 1 unit in the last place."""
    bounded = real(-104.0) if x < real(-104.0) else x
    bounded = real(89.0) if bounded > real(89.0) else bounded
    shifted = bounded * _LOG2_E + _MAGIC
    n = shifted - _MAGIC
    p = _power_series(bounded - n * _LN2_HIGH - n * _LN2_LOW) + real(1)
    # In two steps: a power of two alone may be beyond the range where the product is not.
    k = bits(shifted) - _MAGIC_BITS
    half = k >> _ONE_BIT
    return (
        p * bits(np.int32((half + _BIAS) << _SHIFT)) * bits(np.int32((k - half + _BIAS) << _SHIFT))
    )


@_exact
def exp_below(x: Any) -> Any:
    """Return the power of e of a number that is not above 0, as exactly as `exp`: scaled up, its
    power of two is in the range, and the last product is rounded once where that is subnormal.
    """
    bounded = real(-104.0) if x < real(-104.0) else x
    shifted = bounded * _LOG2_E + _MAGIC
    n = shifted - _MAGIC
    p = _power_series(bounded - n * _LN2_HIGH - n * _LN2_LOW) + real(1)
    scale = bits(np.int32((bits(shifted) - _MAGIC_BITS + _RAISED_BIAS) << _SHIFT))
    return p * scale * _LOWERED


@_exact
def expm1(x: Any) -> Any:
    """Return ``exp(x) - 1``."""
    bounded = real(-30.0) if x < real(-30.0) else x
    bounded = real(60.0) if bounded > real(60.0) else bounded
    shifted = bounded * _LOG2_E + _MAGIC
    n = shifted - _MAGIC
    p = _power_series(bounded - n * _LN2_HIGH - n * _LN2_LOW)
    scale = bits(np.int32((bits(shifted) - _MAGIC_BITS + _BIAS) << _SHIFT))
    near = scale * p + (scale - real(1))
    near = x if x == real(0) else near  # with its sign
    return exp(x) if x > real(50) else near


@_exact
def log(x: Any) -> Any:
    """Return the natural logarithm, to an error of 1 unit in the last place."""
    is_tiny = x < real(1.17549435e-38)
    scaled = x * real(8388608.0) if is_tiny else x
    pattern = bits(scaled)
    mantissa = bits(np.int32((pattern & np.int32(0x7FFFFF)) | np.int32(0x3F800000)))
    is_upper = mantissa > real(1.41421356)
    f = (mantissa * real(0.5) if is_upper else mantissa) - real(1)
    exponent = (pattern >> _SHIFT) - _BIAS
    e = real(exponent) + (real(1) if is_upper else real(0)) - (real(23) if is_tiny else real(0))
    z = f * f
    p = real(7.0376836292e-2)
    p = p * f + real(-1.1514610310e-1)
    p = p * f + real(1.1676998740e-1)
    p = p * f + real(-1.2420140846e-1)
    p = p * f + real(1.4249322787e-1)
    p = p * f + real(-1.6668057665e-1)
    p = p * f + real(2.0000714765e-1)
    p = p * f + real(-2.4999993993e-1)
    p = p * f + real(3.3333331174e-1)
    y = p * f * z + e * _LN2_LOW - real(0.5) * z
    y = f + y + e * _LN2_HIGH
    y = x if x > real(3.4028235e38) else y
    y = real(-np.inf) if x == real(0) else y
    return y if x >= real(0) else real(np.nan)


@_exact
def log1p(x: Any) -> Any:
    """Return ``log(1 + x)``: the logarithm of the rounded sum, and what was rounded off."""
    u = real(1) + x
    lost = (x - (u - real(1))) / u
    inside = u > real(0) and u < real(np.inf)
    y = log(u) + (lost if inside else real(0))
    return x if abs(x) < real(1e-8) else y


@_exact
def atan(x: Any) -> Any:
    """Return the angle whose tangent is x, to an error of 2 units in the last place."""
    t = abs(x)
    is_far = t > real(2.414213562373095)
    is_middle = t > real(0.4142135623730950)
    y = real(np.pi / 2) if is_far else (real(np.pi / 4) if is_middle else real(0))
    above = real(-1) if is_far else (t - real(1) if is_middle else t)
    under = t if is_far else (t + real(1) if is_middle else real(1))
    v = above / under
    z = v * v
    p = real(8.05374449538e-2)
    p = p * z + real(-1.38776856032e-1)
    p = p * z + real(1.99777106478e-1)
    p = p * z + real(-3.33329491539e-1)
    y = y + (p * z * v + v)
    return bits(np.int32(bits(y) | (bits(x) & np.int32(-0x80000000))))


@_exact
def erfc(x: Any) -> Any:
    """Return what the error function lacks to 1, to a relative error of 2e-7: in double precision,
    or the exponent would lose digits.
    """
    z = abs(np.float64(x))
    t = 1.0 / (1.0 + 0.5 * z)
    p = 0.17087277
    p = p * t + -0.82215223
    p = p * t + 1.48851587
    p = p * t + -1.13520398
    p = p * t + 0.27886807
    p = p * t + -0.18628806
    p = p * t + 0.09678418
    p = p * t + 0.37409196
    p = p * t + 1.00002368
    y = t * double.exp(-z * z - 1.26551223 + t * p)
    return real(y if x >= real(0) else 2.0 - y)


@_exact
def log1p_below_one(x: Any) -> Any:
    """Return ``log(1 + x)`` of a number of [0, 1]: twice the area tangent of ``x / (2 + x)``."""
    s = x / (real(2) + x)
    z = s * s
    p = real(1 / 15)
    p = p * z + real(1 / 13)
    p = p * z + real(1 / 11)
    p = p * z + real(1 / 9)
    p = p * z + real(1 / 7)
    p = p * z + real(1 / 5)
    p = p * z + real(1 / 3)
    return real(2) * (s + s * z * p)


@_exact
def erf(x: Any) -> Any:
    """Return the error function, to a relative error of 3e-7: a rational function up to where it is
    1 in single precision.
    """
    z = x * x
    z = real(16) if z > real(16) else z
    a = real(-2.72614225801306e-10)
    a = a * z + real(2.77068142495902e-08)
    a = a * z + real(-2.10102402082508e-06)
    a = a * z + real(-5.69250639462346e-05)
    a = a * z + real(-7.34990630326855e-04)
    a = a * z + real(-2.95459980854025e-03)
    a = a * z + real(-1.60960333262415e-02)
    q = real(-1.45660718464996e-05)
    q = q * z + real(-2.13374055278905e-04)
    q = q * z + real(-1.68282697438203e-03)
    q = q * z + real(-7.37332916720468e-03)
    q = q * z + real(-1.42647390514189e-02)
    inside = x * (a / q)
    inside = real(1) if x > real(3.84) else inside
    return real(-1) if x < real(-3.84) else inside


@_exact
def normal_share(x: Any) -> Any:
    """Return the normal distribution function, to an absolute error of 2e-7."""
    return real(0.5) + real(0.5) * erf(x * real(0.5**0.5))


__all__ = [
    "MAGNITUDE",
    "SIGN_SHIFT",
    "atan",
    "erf",
    "erfc",
    "exp",
    "exp_below",
    "expm1",
    "integer",
    "log",
    "log1p",
    "log1p_below_one",
    "normal_share",
    "real",
]
