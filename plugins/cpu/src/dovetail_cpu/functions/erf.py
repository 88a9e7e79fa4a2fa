"""The error function and its complement.

In float64 the rational approximations of W. J. Cody, "Rational Chebyshev approximations for the
error function", Mathematics of Computation 23 (1969), on three ranges of abs(x). In float32
erf(x) = tanh(x p(x²)), for which NumPy has vector instructions, to an error below three units in
the last place: p was fitted up to where erf is 1, and grows from there on, so that there is nothing
to choose between. For few elements Python's own functions are faster.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]
Coefficients = tuple[float, ...]

_SMALL: Final = 0.46875
_LARGE: Final = 4.0
_INVERSE_SQRT_PI: Final = 1 / math.sqrt(math.pi)

_SMALL_P: Final = (
    *(1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2, 3.77485237685302021e2),
    3.20937758913846947e3,
)
_SMALL_Q: Final = (
    *(1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3),
    2.84423683343917062e3,
)
_MIDDLE_P: Final = (
    *(2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1),
    *(2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3),
    1.23033935479799725e3,
)
_MIDDLE_Q: Final = (
    *(
        1.0,
        1.57449261107098347e1,
        1.17693950891312499e2,
        5.37181101862009858e2,
        1.62138957456669019e3,
    ),
    *(3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3),
)
_LARGE_P: Final = (
    *(
        1.63153871373020978e-2,
        3.05326634961232344e-1,
        3.60344899949804439e-1,
        1.25781726111229246e-1,
    ),
    *(1.60837851487422766e-2, 6.58749161529837803e-4),
)
_LARGE_Q: Final = (
    *(1.0, 2.56852019228982242e0, 1.87295284992346725e0, 5.27905102951428412e-1),
    *(6.05183413124413191e-2, 2.33520497626869185e-3),
)
_SINGLE: Final = np.dtype(np.float32)
SINGLE_COEFFICIENTS: Final = (
    *(1.12837927, 0.102769056, -0.000191830615, -0.000619784873),
    *(8.76374258e-05, -5.66849438e-06, 1.41853436e-07),
)
"""Those of p, lowest first."""
_SINGLE_P: Final = [np.array(each, _SINGLE) for each in SINGLE_COEFFICIENTS]
_FEW: Final = 128
_MANY: Final = 1 << 13
"""Elements from which importing SciPy pays, whose functions take a fifth of the time in float64."""


def erf(x: np.ndarray) -> Array:
    """Return the error function of `x`, a floating-point array, in its dtype."""
    if x.ndim > 1 and not x.flags.c_contiguous:
        return _like(x, erf(np.ascontiguousarray(x)))
    if x.size <= _FEW:
        return _one_by_one(math.erf, x)
    if x.dtype == np.float64:
        return _by_scipy("erf", x) if x.size >= _MANY else _by_range(x, complement=False)
    single = np.ascontiguousarray(x, np.float32)
    result = np.empty_like(single)
    write_erf(result, np.empty_like(single), np.empty_like(single), single)
    return result.astype(x.dtype, copy=False)


def erfc(x: np.ndarray) -> Array:
    """Return 1 - erf(x), accurate also where that is small, in the dtype of `x`."""
    if x.ndim > 1 and not x.flags.c_contiguous:
        return _like(x, erfc(np.ascontiguousarray(x)))
    if x.size <= _FEW:
        return _one_by_one(math.erfc, x)
    if x.dtype == np.float64:
        return _by_scipy("erfc", x) if x.size >= _MANY else _by_range(x, complement=True)
    return _by_range(np.asarray(x, np.float64), complement=True).astype(x.dtype)


def _by_scipy(name: str, x: np.ndarray) -> Array:
    made: Array = getattr(import_module("scipy.special"), name)(x)
    return made


def _like(x: Array, result: Array) -> Array:
    """Return `result` with its dimensions in memory in the order of those of `x`; of an expanded
    array, in C order.
    """
    if 0 in x.strides:
        return result
    made = np.empty_like(x)
    made[...] = result
    return made


def _one_by_one(function: Callable[[float], float], x: np.ndarray) -> Array:
    values = map(function, x.reshape(-1).tolist())
    return np.fromiter(values, x.dtype, x.size).reshape(x.shape)


def write_erf(out: Array, value: Array, square: Array, x: Array) -> bool | None:
    """Write the error function of float32 numbers."""
    if x.dtype != _SINGLE:
        return False
    np.multiply(x, x, square)
    np.multiply(square, _SINGLE_P[-1], value)
    for coefficient in _SINGLE_P[-2:0:-1]:
        np.add(value, coefficient, value)
        np.multiply(value, square, value)
    np.add(value, _SINGLE_P[0], value)
    np.multiply(value, x, value)
    np.tanh(value, out)
    return None


def _by_range(x: Array, complement: bool) -> Array:
    size = np.abs(x)
    result = np.array(x)
    is_small, is_large = size <= _SMALL, size > _LARGE
    if is_small.any():
        small = x[is_small]
        value = small * _ratio(_SMALL_P, _SMALL_Q, small * small)
        result[is_small] = 1 - value if complement else value
    for part, tail in (
        (~(is_small | is_large | np.isnan(x)), _tail_of_middle),
        (is_large, _tail_of_large),
    ):
        if part.any():
            value = tail(size[part])
            negative = x[part] < 0
            if complement:
                result[part] = np.where(negative, 2 - value, value)
            else:
                result[part] = np.where(negative, value - 1, 1 - value)
    return result


def _tail_of_middle(y: Array) -> Array:
    return _exp_of_minus_square(y) * _ratio(_MIDDLE_P, _MIDDLE_Q, y)


def _tail_of_large(y: Array) -> Array:
    # Beyond 27 the result is 0, and the square of y might overflow.
    y = np.minimum(y, 27.5)
    inverse = 1 / (y * y)
    return (
        _exp_of_minus_square(y)
        * (_INVERSE_SQRT_PI - inverse * _ratio(_LARGE_P, _LARGE_Q, inverse))
        / y
    )


def _exp_of_minus_square(y: Array) -> Array:
    """Return exp(-y * y): the square is split, because its rounding error would be multiplied by
    its size.
    """
    head = np.trunc(y * 16) / 16
    return np.asarray(np.exp(-head * head) * np.exp(-(y - head) * (y + head)))


def _ratio(p: Coefficients, q: Coefficients, x: Array) -> Array:
    return _polynomial(p, x) / _polynomial(q, x)


def _polynomial(coefficients: Coefficients, x: Array) -> Array:
    """Return the polynomial with these coefficients, highest first, by Horner's rule."""
    value: Array = x * x.dtype.type(coefficients[0])
    for coefficient in coefficients[1:-1]:
        value += x.dtype.type(coefficient)
        value *= x
    value += x.dtype.type(coefficients[-1])
    return value
