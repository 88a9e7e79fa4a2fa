"""Samples of the pointwise operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import OpInfo, SampleInput, Skip, TensorMaker
from dovetail_kernel import dtype

from ..samples import (
    ALL,
    BROADCAST,
    BY_VALUES,
    COMPLEX,
    FLOATING,
    INEXACT,
    INTEGRAL,
    NO_SHAPE,
    NUMBERS,
    REAL,
    REAL_NUMBERS,
    Samples,
    binary,
    gradients_of,
    is_inexact,
    is_real,
    joined,
    mask,
    mismatch,
    op_info,
    refused,
    smooth,
    specials,
    ternary,
    unary,
    with_each,
)

info = partial(op_info, family="pointwise")

POSITIVE = (0.3, 2.1)
erf, erfc = np.vectorize(math.erf, otypes=[float]), np.vectorize(math.erfc, otypes=[float])
wrong_type = refused(
    lambda make: SampleInput("x"), RuntimeError, r"Expected a value of type 'Tensor' for argument"
)


# -- one operand -----------------------------------------------------------------------------------


def sign(x: Any) -> Any:
    """Return the sign, which NaN has not, and bools are."""
    return x if x.dtype == bool else np.where(np.isnan(x), 0, np.sign(x))


def angle(x: Any) -> Any:
    """Return the angle; that of minus zero is zero."""
    return np.angle(x + 0.0)


def nan_to_num(x: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Any:
    return np.nan_to_num(x, nan=nan or 0.0, posinf=posinf, neginf=neginf)


def clip(x: Any, min: Any = None, max: Any = None) -> Any:
    x = x if min is None else np.maximum(x, min)
    return x if max is None else np.minimum(x, max)


SMOOTH: list[tuple[str, Any, frozenset[dtype], tuple[float, float] | None]] = [
    ("exp", np.exp, ALL, None),
    ("exp2", np.exp2, ALL, None),
    ("expm1", np.expm1, ALL, None),
    ("log", np.log, ALL, POSITIVE),
    ("log2", np.log2, ALL, POSITIVE),
    ("log10", np.log10, ALL, POSITIVE),
    ("log1p", np.log1p, ALL, POSITIVE),
    ("sqrt", np.sqrt, ALL, POSITIVE),
    ("rsqrt", lambda x: 1 / np.sqrt(x), ALL, POSITIVE),
    ("sin", np.sin, ALL, None),
    ("cos", np.cos, ALL, None),
    ("tan", np.tan, ALL, (-1.2, 1.3)),
    ("asin", np.arcsin, ALL, (-0.8, 0.8)),
    ("acos", np.arccos, ALL, (-0.8, 0.8)),
    ("atan", np.arctan, ALL, (-0.8, 0.8)),
    ("sinh", np.sinh, ALL, None),
    ("cosh", np.cosh, ALL, None),
    ("tanh", np.tanh, ALL, None),
    ("asinh", np.arcsinh, ALL, (-0.8, 0.8)),
    ("acosh", np.arccosh, ALL, (1.3, 3.0)),
    ("atanh", np.arctanh, ALL, (-0.8, 0.8)),
    ("arcsin", np.arcsin, ALL, (-0.8, 0.8)),
    ("arccos", np.arccos, ALL, (-0.8, 0.8)),
    ("arctan", np.arctan, ALL, (-0.8, 0.8)),
    ("arcsinh", np.arcsinh, ALL, (-0.8, 0.8)),
    ("arccosh", np.arccosh, ALL, (1.3, 3.0)),
    ("arctanh", np.arctanh, ALL, (-0.8, 0.8)),
    ("sigmoid", lambda x: 1 / (1 + np.exp(-x)), ALL, None),
    ("erf", erf, REAL, None),
    ("erfc", erfc, REAL, None),
    ("reciprocal", np.reciprocal, ALL, POSITIVE),
    ("square", np.square, ALL, None),
    ("neg", np.negative, NUMBERS, None),
    ("negative", np.negative, NUMBERS, None),
    ("positive", np.positive, NUMBERS, None),
    ("abs", np.abs, NUMBERS, None),
    ("absolute", np.abs, NUMBERS, None),
    ("sgn", sign, ALL, None),
    ("angle", angle, ALL, None),
    ("frac", lambda x: x - np.trunc(x), FLOATING, None),
    ("_conj_physical", np.conj, ALL, None),
    ("sign", sign, REAL, None),
    ("floor", np.floor, REAL_NUMBERS, None),
    ("ceil", np.ceil, REAL_NUMBERS, None),
    ("trunc", np.trunc, REAL_NUMBERS, None),
    ("fix", np.trunc, REAL_NUMBERS, None),
    ("round", np.round, REAL_NUMBERS, None),
]
"""Operators of one tensor: name, reference, dtypes, and where values lie."""

NO_COMPLEX_INPLACE = (
    Skip("inplace", "the result is real, and refused with a text of its own", COMPLEX),
)

TO_BOOL: list[tuple[str, Any, frozenset[dtype]]] = [
    ("isnan", np.isnan, ALL),
    ("isinf", np.isinf, ALL),
    ("isfinite", np.isfinite, ALL),
    ("logical_not", np.logical_not, ALL),
]

ONE_OPERAND = [
    *[
        info(n, unary(), ref, dtypes, domain=domain, errors=wrong_type,
             skips=NO_COMPLEX_INPLACE if n in ("abs", "absolute") else ())
        for n, ref, dtypes, domain in SMOOTH
    ],
    *[info(n, unary(), ref, dtypes, errors=wrong_type, supports_autograd=False) for n, ref, dtypes in TO_BOOL],
    info("bitwise_not", unary(), np.invert, INTEGRAL, errors=wrong_type, supports_autograd=False),
    info("nan_to_num", joined(smooth(), unary(nan=0.5, posinf=2.0, neginf=-2.0)), nan_to_num),
    info("sigmoid_backward", gradients_of(unary()), lambda g, y: g * np.conj(y * (1 - y)), INEXACT),
    info("tanh_backward", gradients_of(unary()), lambda g, y: g * np.conj(1 - y * y), INEXACT),
]  # fmt: skip


# -- two operands ----------------------------------------------------------------------------------


def pairs(
    name: str,
    ref: Callable[..., Any],
    dtypes: frozenset[dtype] = ALL,
    *,
    mode: str = "",
    numbers: tuple[float, ...] = (2, 0.75),
    options: tuple[dict[str, Any], ...] = ({},),
    least: float | None = None,
    special: bool = True,
    with_number: frozenset[dtype] | None = None,
    overloads: tuple[str, str] = (".Tensor", ".Scalar"),
    **expected: Any,
) -> list[OpInfo]:
    """Return the overloads of an operator whose second operand is a tensor, or a number.

    Fractional `numbers` meet floating point and complex tensors only; `with_number` are the dtypes
    of the second overload, if they are others.
    """

    def with_numbers(make: TensorMaker) -> Iterator[SampleInput]:
        fitting = [number for number in numbers if is_inexact(make) or number == int(number)]
        for keywords in options:
            for sample in with_each(*fitting)(make):
                yield SampleInput(*sample.arguments, **keywords)

    tensor, scalar = [f"{name}{overload}{mode}" for overload in overloads]
    samples = binary(*options, least=least, special=special)
    return [
        info(tensor, samples, ref, dtypes, errors=mismatch(**options[0]), **expected),
        info(scalar, with_numbers, ref, with_number or dtypes, **expected),
    ]


def two(name: str, ref: Any, dtypes: frozenset[dtype] = ALL, **expected: Any) -> OpInfo:
    """Return an operator of two tensors that broadcast."""
    return info(name, binary(), ref, dtypes, errors=mismatch(), **expected)


def divided(x: Any, y: Any, rounding_mode: str | None = None) -> Any:
    if rounding_mode is None:
        return np.true_divide(x, y)
    if rounding_mode == "floor":
        return np.floor_divide(x, y)
    return np.trunc(np.true_divide(x, y)).astype(np.result_type(x, y))


def raised(x: Any, y: Any) -> Any:
    """Raise to a power; NumPy refuses those of bools and signed integers to a number below 0."""
    return np.power(x, y)


def logaddexp(x: Any, y: Any) -> Any:
    return np.log(np.exp(x) + np.exp(y)) if np.iscomplexobj(x) else np.logaddexp(x, y)


def xlogy(x: Any, y: Any) -> Any:
    return np.where(x == 0, 0, x * np.log(np.where(x == 0, 1, y)))


def powers(make: TensorMaker) -> Iterator[SampleInput]:
    numbers = (2, 3, 0, 1, -1, 0.5, 2.7) if is_inexact(make) else (2, 3, 0, 1)
    return iter(with_each(*numbers)(make))


def powers_of_tensors(make: TensorMaker) -> Iterator[SampleInput]:
    for left, right in BROADCAST:
        yield SampleInput(make(left), make(right) if is_inexact(make) else make(right, low=0, high=4))


def powers_of_numbers(make: TensorMaker) -> Iterator[SampleInput]:
    for number in (2, 0.7) if is_inexact(make) else (2, 3):
        for shape in ((2, 3), (), (0, 3)):
            yield SampleInput(number, make(shape) if is_inexact(make) else make(shape, low=0, high=4))


ALPHAS = ({}, {"alpha": 2})
MODES = ({"rounding_mode": "floor"}, {"rounding_mode": None}, {"rounding_mode": "trunc"})
STEP: dict[str, Any] = {"domain": POSITIVE}

ARITHMETIC = [
    *pairs("add", lambda x, y, alpha=1: x + alpha * y, options=ALPHAS),
    *pairs("sub", lambda x, y, alpha=1: x - alpha * y, NUMBERS, options=ALPHAS),
    *pairs("subtract", lambda x, y, alpha=1: x - alpha * y, NUMBERS, options=ALPHAS),
    *pairs("rsub", lambda x, y, alpha=1: y - alpha * x, NUMBERS, options=ALPHAS),
    *pairs("mul", np.multiply),
    *pairs("multiply", np.multiply),
    *pairs("div", np.true_divide, least=0.5),
    *pairs("divide", np.true_divide, least=0.5),
    *pairs("true_divide", np.true_divide, least=0.5),
    *pairs("div", divided, REAL_NUMBERS, with_number=REAL, mode="_mode", options=MODES, least=1, special=False, **STEP),
    *pairs("divide", divided, REAL_NUMBERS, with_number=REAL, mode="_mode", options=MODES, least=1, special=False, **STEP),
    *pairs("floor_divide", np.floor_divide, REAL_NUMBERS, with_number=REAL, least=1, special=False,
           overloads=("", ".Scalar"), supports_autograd=False),
    *pairs("remainder", np.remainder, REAL_NUMBERS, with_number=REAL, least=1, special=False, **STEP),
    *pairs("fmod", np.fmod, REAL_NUMBERS, with_number=REAL, least=1, special=False, **STEP),
    info("pow.Tensor_Tensor", powers_of_tensors, raised, NUMBERS, domain=POSITIVE, errors=mismatch()),
    info("pow.Tensor_Scalar", powers, raised, domain=POSITIVE),
    info("pow.Scalar", powers_of_numbers, raised, domain=POSITIVE),
    two("atan2", np.arctan2, REAL, domain=POSITIVE),
    two("arctan2", np.arctan2, REAL, domain=POSITIVE),
    two("hypot", np.hypot, FLOATING, domain=POSITIVE),
    two("logaddexp", logaddexp, INEXACT),
    info("xlogy.Tensor", binary(special=False), xlogy, REAL, domain=POSITIVE,
         errors=mismatch()),
]  # fmt: skip


# -- comparison and logic --------------------------------------------------------------------------


def equal_too(make: TensorMaker) -> Iterator[SampleInput]:
    """Yield operands that broadcast, and operands that are equal in part."""
    yield from binary()(make)
    x = make(2, 3)
    yield SampleInput(x, x.flip((1,)))


def comparison(name: str, ref: Any, dtypes: frozenset[dtype]) -> list[OpInfo]:
    tensor, scalar = pairs(name, ref, dtypes, numbers=(1, 0.5), supports_autograd=False)
    return [
        info(tensor.name[6:], equal_too, ref, dtypes, errors=mismatch(), supports_autograd=False),
        scalar,
    ]


COMPARISON = [
    each
    for names, ref, dtypes in (
        (("eq",), np.equal, ALL),
        (("ne", "not_equal"), np.not_equal, ALL),
        (("lt", "less"), np.less, REAL),
        (("le", "less_equal"), np.less_equal, REAL),
        (("gt", "greater"), np.greater, REAL),
        (("ge", "greater_equal"), np.greater_equal, REAL),
    )
    for name in names
    for each in comparison(name, ref, dtypes)
]

LOGIC = [
    *[two(f"logical_{n}", getattr(np, f"logical_{n}"), supports_autograd=False) for n in ("and", "or", "xor")],
    *[
        info
        for n in ("and", "or", "xor")
        for name in (f"bitwise_{n}", f"__{n}__")
        for info in pairs(name, getattr(np, f"bitwise_{n}"), INTEGRAL, numbers=(2, 5), supports_autograd=False)
    ],
]  # fmt: skip


def close(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    return np.isclose(x, y, rtol, atol, equal_nan)


def nearly_equal(make: TensorMaker) -> Iterator[SampleInput]:
    x = make(2, 3)
    yield SampleInput(x, x.clone())
    yield SampleInput(x, make(3))
    yield SampleInput(make(()), make(()), 0.5, 0.25)
    yield SampleInput(make(0, 3), make(0, 3))
    for tensor in specials(make):
        yield SampleInput(tensor, tensor.reshape(-1, 1))
        yield SampleInput(tensor, tensor.flip((0,)), equal_nan=True)


def equal_or_not(make: TensorMaker) -> Iterator[SampleInput]:
    x = make(2, 3)
    for other in (x.clone(), make(2, 3), make(3)):
        yield SampleInput(x, other)
    yield SampleInput(make(0, 3), make(0, 3))
    yield SampleInput(make(()), make(()))


TESTS = [
    info("isclose", nearly_equal, close, supports_autograd=False),
    info("allclose", nearly_equal, lambda *args, **kwargs: close(*args, **kwargs).all(),
         supports_autograd=False, skips=BY_VALUES),
    info("equal", equal_or_not, np.array_equal, supports_autograd=False),
    info("is_complex", unary(), np.iscomplexobj, supports_autograd=False),
    info("is_floating_point", unary(), lambda x: x.dtype.kind == "f", supports_autograd=False),
    *[
        info(name, lambda make: [SampleInput(make(())), SampleInput(make(1, 1))], ref,
             errors=refused(lambda make: SampleInput(make(2)), RuntimeError, text),
             supports_autograd=False, skips=BY_VALUES)
        for name, ref, text in (
            ("item", lambda x: x.item(), "a Tensor with 2 elements cannot be converted to Scalar"),
            ("_local_scalar_dense", lambda x: x.item(), "cannot be converted to Scalar"),
            ("is_nonzero", lambda x: bool(x.item()), "Boolean value of Tensor with more than one"),
        )
    ],
]  # fmt: skip


# -- choosing --------------------------------------------------------------------------------------


def limits(make: TensorMaker) -> Iterator[SampleInput]:
    yield from with_each((0, 1), (None, 1), (1, None))(make)
    if is_real(make):
        yield SampleInput(make(2, 3), min=-0.51, max=0.51)


def tensor_limits(make: TensorMaker) -> Iterator[SampleInput]:
    for shapes in (((2, 3), (2, 3), (2, 3)), ((2, 3), (3,), (2, 1)), ((), (), ()), ((0, 3), (3,), ())):
        x, low, high = [make(shape) for shape in shapes]
        yield SampleInput(x, low, high)
        yield SampleInput(x, low, None)
        yield SampleInput(x, None, high)


def choices(*kinds: str) -> Samples:
    """Return a mask, and what is chosen by it: tensors or numbers."""

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for left, right in BROADCAST:
            values = [make(right) if kind == "tensor" else 2 for kind in kinds]
            if is_inexact(make):
                values = [0.5 if isinstance(value, int) else value for value in values]
            yield SampleInput(mask(make, *left), *values)

    return samples


def filled(with_number: bool) -> Samples:
    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for left, right in BROADCAST:
            value = 1 if with_number else make(())
            yield SampleInput(make(left), mask(make, *right), value)

    return samples


def lerps(weights: Callable[[TensorMaker], Any]) -> Samples:
    return lambda make: [
        SampleInput(make(left), make(right), weights(make)) for left, right in BROADCAST
    ]


def lerped(x: Any, end: Any, weight: Any) -> Any:
    return x + weight * (end - x)


VALUES = ({}, {"value": 2})
neither = mismatch()
no_limit = refused(
    lambda make: SampleInput(make(2)), RuntimeError, "At least one of 'min' or 'max' must not be None"
)

CHOOSING = [
    info("where", smooth(), lambda x: np.nonzero(np.atleast_1d(x)), skips=(NO_SHAPE, *BY_VALUES),
         supports_autograd=False),
    *[info(name, limits, clip, REAL, errors=no_limit) for name in ("clamp", "clip")],
    *[info(f"{name}.Tensor", tensor_limits, clip, REAL, errors=no_limit) for name in ("clamp", "clip")],
    *pairs("clamp_min", np.maximum, REAL, overloads=(".Tensor", "")),
    *pairs("clamp_max", np.minimum, REAL, overloads=(".Tensor", "")),
    two("maximum", np.maximum, REAL),
    two("minimum", np.minimum, REAL),
    info("where.self", choices("tensor", "tensor"), np.where),
    info("where.ScalarOther", choices("tensor", "number"), np.where),
    info("where.ScalarSelf", choices("number", "tensor"), np.where),
    info("where.Scalar", choices("number", "number"), np.where, supports_autograd=False),
    info("masked_fill.Scalar", filled(True), lambda x, m, v: np.where(m, np.asarray(v, x.dtype), x)),
    info("masked_fill.Tensor", filled(False), lambda x, m, v: np.where(m, v, x),
         errors=refused(lambda make: SampleInput(make(2), mask(make, 2), make(2)), RuntimeError,
                        "masked_fill_? only supports a 0-dimensional value tensor")),
    info("lerp.Scalar", lerps(lambda make: 0.3), lerped, INEXACT),
    info("lerp.Tensor", lerps(lambda make: make(3)), lerped, INEXACT),
    info("addcmul", ternary(*VALUES), lambda x, y, z, value=1: x + value * y * z, NUMBERS),
    info("addcdiv", ternary(*VALUES), lambda x, y, z, value=1: x + value * y / z, INEXACT,
         domain=POSITIVE),
]  # fmt: skip

OP_INFOS = [*ONE_OPERAND, *ARITHMETIC, *COMPARISON, *LOGIC, *TESTS, *CHOOSING]
