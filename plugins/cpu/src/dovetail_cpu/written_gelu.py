"""Gelu and its gradient, written into memory that is there: ``write(out, *rooms, ...)``.

In float32 the exact one needs no error function: erf(y) = tanh(y p(y²)) to a relative error of 3e-7
after rounding, where p was fitted. So the normal distribution function is the logistic function of
2 y p(y²) for y = x / sqrt(2), which takes one power. p was fitted up to y = 4.2, where erf is 1 in
single precision; from there on it grows, to infinity where the powers of y² do, so that nothing has
to be bounded. Left of -2 gelu loses digits, less than by 1 + erf in single precision but as many as
p leaves of 1 - erf: its relative error is 2e-5 up to x = -3, 5e-4 up to -4, 5 % up to -5, and
beyond -6 it is 0 too early. The absolute one is 2e-7 at most. Few elements have all their digits
(`few_elements`).
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy

from .elementary import BASE_TWO
from .erf import SINGLE_COEFFICIENTS

__all__ = ["write_gelu", "write_gelu_gradient"]

_SINGLE, _DOUBLE = map(numpy.dtype, (numpy.float32, numpy.float64))
_add, _subtract, _multiply = numpy.add, numpy.subtract, numpy.multiply
_divide = numpy.divide
_ONE: Final = numpy.array(1, _SINGLE)
_DENSITY: Final = numpy.array(1 / math.sqrt(2 * math.pi), _SINGLE)
_POWER: Final = {_SINGLE: numpy.exp2 if BASE_TWO else numpy.exp, _DOUBLE: numpy.exp}
_PER_POWER: Final = {_SINGLE: 1 / math.log(2) if BASE_TWO else 1.0, _DOUBLE: 1.0}
"""The power that is taken, and how many of its units one of the power of e is."""
_LOGIT: Final = [
    numpy.array(-2 * _PER_POWER[_SINGLE] * coefficient * 0.5 ** (power + 0.5), _SINGLE)
    for power, coefficient in enumerate(SINGLE_COEFFICIENTS)
]
"""The coefficients of p with x put in, for the power of minus the argument."""
_MINUS_HALF: Final = numpy.array(-0.5 * _PER_POWER[_SINGLE], _SINGLE)
_SCALE: Final = math.sqrt(2 / math.pi)
_CUBIC: Final = 0.044715


def _of_each(value: float) -> dict[Any, Any]:
    return {each: numpy.array(value, each) for each in (_SINGLE, _DOUBLE)}


def _in_powers(value: float) -> dict[Any, Any]:
    return {each: numpy.array(value * unit, each) for each, unit in _PER_POWER.items()}


_ONES: Final = _of_each(1)
_MINUS_LINEAR, _MINUS_CUBIC = _in_powers(-2 * _SCALE), _in_powers(-2 * _SCALE * _CUBIC)
_SLOPE, _SLOPE_SQUARE = _of_each(2 * _SCALE), _of_each(6 * _SCALE * _CUBIC)


def write_gelu(
    out: Any, rest: Any, square: Any, x: Any, *, approximate: str = "none"
) -> bool | None:
    """Write the gelu of `x`, the exact one if it is float32."""
    if approximate == "tanh":
        _multiply(x, x, square)
        _write_rest_of_tanh(rest, square, x)
    elif approximate != "none" or x.dtype != _SINGLE:
        return False
    else:
        _multiply(x, x, square)
        _write_rest(rest, square, x)
    _divide(x, rest, out)
    return None


def write_gelu_gradient(
    out: Any,
    share: Any,
    square: Any,
    other: Any,
    grad_output: Any,
    x: Any,
    *,
    approximate: str = "none",
) -> bool | None:
    """Write the gradient of gelu: the distribution function plus x times the density, or the
    derivative of the approximation.
    """
    if approximate == "tanh":
        _write_slope_of_tanh(share, other, square, x)
    elif approximate != "none" or x.dtype != _SINGLE:
        return False
    else:
        _multiply(x, x, square)
        _write_rest(share, square, x)
        _divide(_ONE, share, share)
        _multiply(square, _MINUS_HALF, other)
        _POWER[_SINGLE](other, other)
        _multiply(other, _DENSITY, other)
        _multiply(other, x, other)
        _add(share, other, share)
    _multiply(share, grad_output, out)
    return None


def _write_rest(out: Any, square: Any, x: Any) -> None:
    """Write ``1 + exp(-s)``, where the logistic function of s is the normal distribution function
    of the float32 array `x`.
    """
    _multiply(square, _LOGIT[-1], out)
    for coefficient in _LOGIT[-2:0:-1]:
        _add(out, coefficient, out)
        _multiply(out, square, out)
    _add(out, _LOGIT[0], out)
    _multiply(out, x, out)
    _POWER[_SINGLE](out, out)
    _add(out, _ONE, out)


def _write_rest_of_tanh(out: Any, square: Any, x: Any) -> None:
    """Write ``1 + exp(-2 u)`` for u = sqrt(2 / pi) (x + 0.044715 x³)."""
    dtype = out.dtype
    _multiply(square, _MINUS_CUBIC[dtype], out)
    _add(out, _MINUS_LINEAR[dtype], out)
    _multiply(out, x, out)
    _POWER[dtype](out, out)
    _add(out, _ONES[dtype], out)


def _write_slope_of_tanh(out: Any, room: Any, square: Any, x: Any) -> None:
    """Write ``s + s (1 - s) x 2 du/dx`` for the logistic function s of 2 u; where s is 0 it is 0,
    however large the rest.
    """
    dtype = out.dtype
    one = _ONES[dtype]
    _multiply(x, x, square)
    _write_rest_of_tanh(out, square, x)
    _divide(one, out, out)
    _subtract(one, out, room)
    _multiply(room, out, room)
    _multiply(room, x, room)
    _multiply(square, _SLOPE_SQUARE[dtype], square)
    _add(square, _SLOPE[dtype], square)
    _multiply(room, square, room)
    _add(out, room, out)
