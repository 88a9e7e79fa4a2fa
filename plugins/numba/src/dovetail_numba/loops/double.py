"""Functions of float64 numbers: see `single`, whose names they have."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from .bits import bits

real = np.float64
integer = np.int64
SIGN_SHIFT = np.int64(63)
MAGNITUDE = np.int64(0x7FFFFFFFFFFFFFFF)

_exact = njit(fastmath={"contract"}, error_model="numpy", forceinline=True)

_LOG2_E = 1.4426950408889634
_MAGIC = 6755399441055744.0  # 1.5 * 2**52
_MAGIC_BITS = np.int64(0x4338000000000000)
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_BIAS, _SHIFT, _ONE_BIT = np.int64(1023), np.int64(52), np.int64(1)
_UPPER_HALF = np.int64(-0x8000000)
_C = tuple([1 / math.factorial(k) for k in range(14)])


@_exact
def _power_series(r: Any) -> Any:
    """Return ``exp(r) - 1`` of a number between -log(2) / 2 and log(2) / 2."""
    p = _C[13]
    p = p * r + _C[12]
    p = p * r + _C[11]
    p = p * r + _C[10]
    p = p * r + _C[9]
    p = p * r + _C[8]
    p = p * r + _C[7]
    p = p * r + _C[6]
    p = p * r + _C[5]
    p = p * r + _C[4]
    p = p * r + _C[3]
    p = p * r + _C[2]
    return p * (r * r) + r


@_exact
def exp(x: Any) -> Any:
    """Return the power of e, to an error of 1 unit in the last place."""
    bounded = -746.0 if x < -746.0 else x
    bounded = 710.0 if bounded > 710.0 else bounded
    shifted = bounded * _LOG2_E + _MAGIC
    n = shifted - _MAGIC
    p = _power_series(bounded - n * _LN2_HIGH - n * _LN2_LOW) + 1.0
    k = bits(shifted) - _MAGIC_BITS
    half = k >> _ONE_BIT
    return p * bits((half + _BIAS) << _SHIFT) * bits((k - half + _BIAS) << _SHIFT)


exp_below = exp
"""The power of e of a number that is not above 0."""


@_exact
def expm1(x: Any) -> Any:
    """Return ``exp(x) - 1``."""
    bounded = -60.0 if x < -60.0 else x
    bounded = 600.0 if bounded > 600.0 else bounded
    shifted = bounded * _LOG2_E + _MAGIC
    n = shifted - _MAGIC
    p = _power_series(bounded - n * _LN2_HIGH - n * _LN2_LOW)
    scale = bits((bits(shifted) - _MAGIC_BITS + _BIAS) << _SHIFT)
    near = scale * p + (scale - 1.0)
    near = x if x == 0.0 else near  # with its sign
    return exp(x) if x > 500.0 else near


@_exact
def log1p_below_one(x: Any) -> Any:
    """Return ``log(1 + x)`` of a number of [0, 1]: twice the area tangent of ``x / (2 + x)``."""
    s = x / (2.0 + x)
    z = s * s
    p = 1 / 33
    p = p * z + 1 / 31
    p = p * z + 1 / 29
    p = p * z + 1 / 27
    p = p * z + 1 / 25
    p = p * z + 1 / 23
    p = p * z + 1 / 21
    p = p * z + 1 / 19
    p = p * z + 1 / 17
    p = p * z + 1 / 15
    p = p * z + 1 / 13
    p = p * z + 1 / 11
    p = p * z + 1 / 9
    p = p * z + 1 / 7
    p = p * z + 1 / 5
    p = p * z + 1 / 3
    return 2.0 * (s + s * z * p)


@_exact
def erf(x: Any) -> Any:
    """Return the error function."""
    return math.erf(x)


@_exact
def normal_share(x: Any) -> Any:
    """Return the normal distribution function, to a relative error of 1e-14 for all numbers:
    ``exp(-x² / 2)`` times a polynomial of ``t = 1 / (1 + 0.4 |x| / sqrt(2))``. The square is taken
    in two parts, or its rounding would show in the power.
    """
    t = 1.0 / (1.0 + abs(x) * (0.4 / 2**0.5))
    p = 0.0018704194174381044
    p = p * t + -0.029017487432089102
    p = p * t + 0.20081058429183826
    p = p * t + -0.8301002214424213
    p = p * t + 2.3004559537131186
    p = p * t + -4.527630870302508
    p = p * t + 6.5276879417727915
    p = p * t + -7.021186884262166
    p = p * t + 5.730927091939041
    p = p * t + -3.6485633726871978
    p = p * t + 1.8666087275025292
    p = p * t + -0.7465082064322145
    p = p * t + 0.22732585351387438
    p = p * t + -0.08693347355324177
    p = p * t + -0.00098284164840601
    p = p * t + 0.01602480530365149
    p = p * t + 0.06706385863628941
    p = p * t + 0.1216594124868466
    p = p * t + 0.17151535419405567
    p = p * t + 0.20762168586878535
    p = p * t + 0.22567583573109903
    p = p * t + 0.22567583338888586
    bounded = -40.0 if x < -40.0 else (40.0 if x > 40.0 else x)
    upper = bits(bits(bounded) & _UPPER_HALF)
    rest = (upper - bounded) * (upper + bounded) * 0.5
    power = exp_below(upper * upper * -0.5)
    beyond = p * (t * 0.5) * (power + power * (rest + rest * rest * 0.5))
    return beyond if x < 0.0 else 1.0 - beyond


__all__ = [
    "MAGNITUDE",
    "SIGN_SHIFT",
    "erf",
    "exp",
    "exp_below",
    "expm1",
    "integer",
    "log1p_below_one",
    "normal_share",
    "real",
]
