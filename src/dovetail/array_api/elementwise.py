"""Elementwise functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import bool as bool_

from .data_types import check_kinds, iinfo
from .manipulation import broadcast_shapes
from .promotion import by_standard, promoted, result_dtype

NUMERIC = ("numeric",)
REAL = ("integral", "real floating")
FLOATING = ("real floating", "complex floating")
INTEGRAL = ("bool", "integral")
ANY = ("bool", "numeric")

REAL_FLOATING = ("real floating",)
INTEGERS = ("integral",)
BOOLS = ("bool",)
"""Kinds of dtypes that functions are for."""

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
]


def _unary(name: str, operator: Callable[[Tensor], Tensor], kinds: tuple[str, ...]) -> Any:
    of_array = by_standard(name)(operator)

    def compute(x: Tensor, /) -> Tensor:
        check_kinds(name, kinds, x)
        return of_array(x)

    return _named(compute, name, f"Return ``{name}(x)`` of each element.")


def _binary(name: str, operator: Callable[[Tensor, Tensor], Tensor], kinds: tuple[str, ...]) -> Any:
    of_arrays = by_standard(name)(operator)

    def compute(x1: object, x2: object, /) -> Tensor:
        first, second = promoted(x1, x2)
        check_kinds(name, kinds, first)
        return of_arrays(first, second)

    return _named(compute, name, f"Return ``{name}(x1, x2)`` of each pair of elements.")


def _named(compute: Callable[..., object], name: str, text: str) -> Callable[..., Any]:
    compute.__name__ = compute.__qualname__ = name
    compute.__doc__ = text
    return compute


abs = _unary("abs", aten.abs, NUMERIC)
acos = _unary("acos", aten.acos, FLOATING)
acosh = _unary("acosh", aten.acosh, FLOATING)
asin = _unary("asin", aten.asin, FLOATING)
asinh = _unary("asinh", aten.asinh, FLOATING)
atan = _unary("atan", aten.atan, FLOATING)
atanh = _unary("atanh", aten.atanh, FLOATING)
bitwise_invert = _unary("bitwise_invert", aten.bitwise_not, INTEGRAL)
cos = _unary("cos", aten.cos, FLOATING)
cosh = _unary("cosh", aten.cosh, FLOATING)
exp = _unary("exp", aten.exp, FLOATING)
isfinite = _unary("isfinite", aten.isfinite, NUMERIC)
isinf = _unary("isinf", aten.isinf, NUMERIC)
isnan = _unary("isnan", aten.isnan, NUMERIC)
log = _unary("log", aten.log, FLOATING)
log10 = _unary("log10", aten.log10, FLOATING)
log1p = _unary("log1p", aten.log1p, FLOATING)
log2 = _unary("log2", aten.log2, FLOATING)
logical_not = _unary("logical_not", aten.logical_not, BOOLS)
negative = _unary("negative", aten.neg, NUMERIC)
reciprocal = _unary("reciprocal", aten.reciprocal, FLOATING)
signbit = _unary("signbit", aten.signbit, REAL_FLOATING)
sin = _unary("sin", aten.sin, FLOATING)
sinh = _unary("sinh", aten.sinh, FLOATING)
sqrt = _unary("sqrt", aten.sqrt, FLOATING)
square = _unary("square", aten.square, NUMERIC)
tan = _unary("tan", aten.tan, FLOATING)
tanh = _unary("tanh", aten.tanh, FLOATING)

add = _binary("add", aten.add, NUMERIC)
atan2 = _binary("atan2", aten.atan2, REAL_FLOATING)
bitwise_and = _binary("bitwise_and", aten.bitwise_and, INTEGRAL)
bitwise_left_shift = _binary("bitwise_left_shift", aten.bitwise_left_shift, INTEGERS)
bitwise_or = _binary("bitwise_or", aten.bitwise_or, INTEGRAL)
bitwise_right_shift = _binary("bitwise_right_shift", aten.bitwise_right_shift, INTEGERS)
bitwise_xor = _binary("bitwise_xor", aten.bitwise_xor, INTEGRAL)
copysign = _binary("copysign", aten.copysign, REAL_FLOATING)
divide = _binary("divide", aten.div, FLOATING)
equal = _binary("equal", aten.eq, ANY)
floor_divide = _binary("floor_divide", aten.floor_divide, REAL)
greater = _binary("greater", aten.gt, REAL)
greater_equal = _binary("greater_equal", aten.ge, REAL)
hypot = _binary("hypot", aten.hypot, REAL_FLOATING)
less = _binary("less", aten.lt, REAL)
less_equal = _binary("less_equal", aten.le, REAL)
logaddexp = _binary("logaddexp", aten.logaddexp, REAL_FLOATING)
logical_and = _binary("logical_and", aten.logical_and, BOOLS)
logical_or = _binary("logical_or", aten.logical_or, BOOLS)
logical_xor = _binary("logical_xor", aten.logical_xor, BOOLS)
maximum = _binary("maximum", aten.maximum, REAL)
minimum = _binary("minimum", aten.minimum, REAL)
multiply = _binary("multiply", aten.mul, NUMERIC)
nextafter = _binary("nextafter", aten.nextafter, REAL_FLOATING)
not_equal = _binary("not_equal", aten.ne, ANY)
pow = _binary("pow", aten.pow, NUMERIC)
remainder = _binary("remainder", aten.remainder, REAL)
subtract = _binary("subtract", aten.sub, NUMERIC)


def _expm1(x: Tensor) -> Tensor:
    result = aten.expm1(x)
    if not x.is_complex():
        return result
    # Where the imaginary part is 0 so is that of the result, also beside an infinity.
    on_axis = aten.complex(aten.expm1(x.real), x.imag)
    return aten.where(x.imag == 0, on_axis, result)


def _sign(x: Tensor) -> Tensor:
    if x.is_complex():
        return aten.sgn(x)
    result = aten.sign(x)
    return aten.where(aten.isnan(x), x, result) if x.dtype.is_floating_point else result


def _round(x: Tensor) -> Tensor:
    if x.is_complex():
        return aten.complex(aten.round(x.real), aten.round(x.imag))
    return aten.round(x) if x.dtype.is_floating_point else x.clone()


def _of_floats(operator: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Return what gives integers back as they are."""
    return lambda x: operator(x) if x.dtype.is_floating_point else x.clone()


ceil = _unary("ceil", _of_floats(aten.ceil), REAL)
conj = _unary("conj", lambda x: x.conj_physical() if x.is_complex() else x.clone(), NUMERIC)
expm1 = _unary("expm1", _expm1, FLOATING)
floor = _unary("floor", _of_floats(aten.floor), REAL)
imag = _unary("imag", lambda x: x.imag.clone() if x.is_complex() else aten.zeros_like(x), NUMERIC)
positive = _unary("positive", aten.clone, NUMERIC)
real = _unary("real", lambda x: x.real.clone(), NUMERIC)
round = _unary("round", _round, NUMERIC)
sign = _unary("sign", _sign, NUMERIC)
trunc = _unary("trunc", _of_floats(aten.trunc), REAL)


def clip(x: Tensor, /, min: object = None, max: object = None) -> Tensor:
    """Limit elements to the range from `min` to `max`, in the dtype of `x`."""
    check_kinds("clip", REAL, x)
    for bound in (min, max):
        if isinstance(bound, Tensor) and result_dtype(bound, x) not in (x.dtype, bound.dtype):
            raise TypeError(f"clip: a bound of {bound.dtype} does not fit {x.dtype}. Use astype.")
    arrays = [each for each in (x, min, max) if isinstance(each, Tensor)]
    shape = broadcast_shapes(*[tuple(each.shape) for each in arrays])
    result = aten.broadcast_to(x, shape).clone()
    for bound, choose, beyond in ((min, maximum, -math.inf), (max, minimum, math.inf)):
        if bound is None or (not isinstance(bound, Tensor) and bound == beyond):
            continue
        limit = bound.to(x.dtype) if isinstance(bound, Tensor) else _bound(bound, x)
        result = choose(result, limit)
    return result


def _bound(bound: Any, x: Tensor) -> Any:
    """Return a number as a bound of elements of `x`: within what its dtype holds."""
    if x.dtype.is_floating_point or x.dtype is bool_:
        return bound
    limits = iinfo(x.dtype)
    return int(limits.min if bound < limits.min else limits.max if bound > limits.max else bound)
