"""Samples of the pointwise operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail_aten.typing import Scalar
from dovetail_dispatcher.testing import SampleInput, Skip, TensorMaker
from dovetail_kernel import dtype

from ..makers import (
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
from .number_parts import NUMBER_PARTS
from .pairs import ARITHMETIC, COMPARISON, LOGIC, POSITIVE, pairs, two

info = partial(op_info, family="pointwise")

erf, erfc = np.vectorize(math.erf, otypes=[float]), np.vectorize(math.erfc, otypes=[float])
wrong_type = refused(
    lambda make: SampleInput("x"), RuntimeError, r"Expected a value of type 'Tensor' for argument"
)


# -- one operand -----------------------------------------------------------------------------------


def sign(x: np.ndarray) -> Any:
    """Return the sign, which NaN has not, and bools are."""
    return x if x.dtype == bool else np.where(np.isnan(x), 0, np.sign(x))


def angle(x: np.ndarray) -> Any:
    """Return the angle; that of minus zero is zero."""
    return np.angle(x + 0.0)


def nan_to_num(x: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Any:
    return np.nan_to_num(x, nan=nan or 0.0, posinf=posinf, neginf=neginf)


def clip(x: np.ndarray, min: Scalar | None = None, max: Scalar | None = None) -> Any:
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
        info(
            n,
            unary(),
            ref,
            dtypes,
            domain=domain,
            errors=wrong_type,
            skips=NO_COMPLEX_INPLACE if n in ("abs", "absolute") else (),
        )
        for n, ref, dtypes, domain in SMOOTH
    ],
    *[
        info(n, unary(), ref, dtypes, errors=wrong_type, supports_autograd=False)
        for n, ref, dtypes in TO_BOOL
    ],
    info("bitwise_not", unary(), np.invert, INTEGRAL, errors=wrong_type, supports_autograd=False),
    info("nan_to_num", joined(smooth(), unary(nan=0.5, posinf=2.0, neginf=-2.0)), nan_to_num),
    info("sigmoid_backward", gradients_of(unary()), lambda g, y: g * np.conj(y * (1 - y)), INEXACT),
    info("tanh_backward", gradients_of(unary()), lambda g, y: g * np.conj(1 - y * y), INEXACT),
]


# -- tests ---------------------------------------------------------------------------------------


def close(
    x: np.ndarray, y: np.ndarray, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
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
    info(
        "allclose",
        nearly_equal,
        lambda *args, **kwargs: close(*args, **kwargs).all(),
        supports_autograd=False,
        skips=BY_VALUES,
    ),
    info("equal", equal_or_not, np.array_equal, supports_autograd=False),
    info("is_complex", unary(), np.iscomplexobj, supports_autograd=False),
    info("is_floating_point", unary(), lambda x: x.dtype.kind == "f", supports_autograd=False),
    *[
        info(
            name,
            lambda make: [SampleInput(make(())), SampleInput(make(1, 1))],
            ref,
            errors=refused(lambda make: SampleInput(make(2)), RuntimeError, text),
            supports_autograd=False,
            skips=BY_VALUES,
        )
        for name, ref, text in (
            ("item", lambda x: x.item(), "a Tensor with 2 elements cannot be converted to Scalar"),
            ("_local_scalar_dense", lambda x: x.item(), "cannot be converted to Scalar"),
            ("is_nonzero", lambda x: bool(x.item()), "Boolean value of Tensor with more than one"),
        )
    ],
]


# -- choosing --------------------------------------------------------------------------------------


def limits(make: TensorMaker) -> Iterator[SampleInput]:
    yield from with_each((0, 1), (None, 1), (1, None))(make)
    if is_real(make):
        yield SampleInput(make(2, 3), min=-0.51, max=0.51)


def tensor_limits(make: TensorMaker) -> Iterator[SampleInput]:
    for shapes in (
        ((2, 3), (2, 3), (2, 3)),
        ((2, 3), (3,), (2, 1)),
        ((), (), ()),
        ((0, 3), (3,), ()),
    ):
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


def lerps(weights: Callable[[TensorMaker], object]) -> Samples:
    return lambda make: [
        SampleInput(make(left), make(right), weights(make)) for left, right in BROADCAST
    ]


def lerped(x: np.ndarray, end: np.ndarray, weight: np.ndarray) -> Any:
    return x + weight * (end - x)


VALUES: tuple[dict[str, Any], ...] = ({}, {"value": 2})
neither = mismatch()
no_limit = refused(
    lambda make: SampleInput(make(2)),
    RuntimeError,
    "At least one of 'min' or 'max' must not be None",
)

CHOOSING = [
    info(
        "where",
        smooth(),
        lambda x: np.nonzero(np.atleast_1d(x)),
        skips=(NO_SHAPE, *BY_VALUES),
        supports_autograd=False,
    ),
    *[info(name, limits, clip, REAL, errors=no_limit) for name in ("clamp", "clip")],
    *[
        info(f"{name}.Tensor", tensor_limits, clip, REAL, errors=no_limit)
        for name in ("clamp", "clip")
    ],
    *pairs("clamp_min", np.maximum, REAL, overloads=(".Tensor", "")),
    *pairs("clamp_max", np.minimum, REAL, overloads=(".Tensor", "")),
    two("maximum", np.maximum, REAL),
    two("minimum", np.minimum, REAL),
    info("where.self", choices("tensor", "tensor"), np.where),
    info("where.ScalarOther", choices("tensor", "number"), np.where),
    info("where.ScalarSelf", choices("number", "tensor"), np.where),
    info("where.Scalar", choices("number", "number"), np.where, supports_autograd=False),
    info(
        "masked_fill.Scalar", filled(True), lambda x, m, v: np.where(m, np.asarray(v, x.dtype), x)
    ),
    info(
        "masked_fill.Tensor",
        filled(False),
        lambda x, m, v: np.where(m, v, x),
        errors=refused(
            lambda make: SampleInput(make(2), mask(make, 2), make(2)),
            RuntimeError,
            "masked_fill_? only supports a 0-dimensional value tensor",
        ),
    ),
    info("lerp.Scalar", lerps(lambda make: 0.3), lerped, INEXACT),
    info("lerp.Tensor", lerps(lambda make: make(3)), lerped, INEXACT),
    info("addcmul", ternary(*VALUES), lambda x, y, z, value=1: x + value * y * z, NUMBERS),
    info(
        "addcdiv",
        ternary(*VALUES),
        lambda x, y, z, value=1: x + value * y / z,
        INEXACT,
        domain=POSITIVE,
    ),
]

OP_INFOS = [*ONE_OPERAND, *ARITHMETIC, *COMPARISON, *LOGIC, *TESTS, *CHOOSING, *NUMBER_PARTS]
