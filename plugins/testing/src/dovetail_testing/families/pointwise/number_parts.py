"""Samples of the pointwise operators on signs, powers of two, decimals, bits and whole numbers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import inf
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import OpInfo, SampleInput, Skip, TensorMaker, integral_types
from dovetail_kernel import complex128, float64, int32

from ..makers import (
    ALL,
    BROADCAST,
    FLOATING,
    INTEGRAL,
    REAL,
    Samples,
    binary,
    is_real,
    mismatch,
    op_info,
    refusals,
    refused,
    smooth,
    specials,
    unary,
    with_each,
)
from .pairs import POSITIVE, two

info = partial(op_info, family="pointwise")

INTEGERS = integral_types()


def with_sign(make: TensorMaker) -> Iterator[SampleInput]:
    """Yield tensors whose signs are known, which that of NaN is not."""
    yield from smooth()(make)
    yield from map(SampleInput, known_signs(make))


def known_signs(make: TensorMaker) -> Iterator[Any]:
    if is_real(make) and not make.requires_grad:
        yield make.values([inf, -inf, 0.0, -0.0, 1.0, -1.0])


def signed(make: TensorMaker) -> Iterator[SampleInput]:
    for left, right in BROADCAST:
        yield SampleInput(make(left), make(right))
    for tensor in known_signs(make):
        yield SampleInput(tensor, tensor.reshape(-1, 1))


def heaviside(x: np.ndarray, values: np.ndarray) -> Any:
    return np.where(x == 0, values, x > 0)


def rounded(x: np.ndarray, decimals: int) -> Any:
    power = 10.0 ** abs(decimals)
    return np.rint(x * power) / power if decimals > 0 else np.rint(x / power) * power


def with_decimals(make: TensorMaker) -> Iterator[SampleInput]:
    for decimals in (0, 2, -1):
        for sample in (smooth() if make.requires_grad else unary())(make):
            yield SampleInput(sample.input, decimals=decimals)


def exponents(make: TensorMaker) -> Iterator[SampleInput]:
    for left, right in BROADCAST:
        yield SampleInput(make(left), make(right, low=-3, high=4))
        if not make.requires_grad:
            yield SampleInput(make(left), make(right, dtype=int32, low=-3, high=4))
    for tensor in specials(make) if make.dtype is float64 else ():
        yield SampleInput(tensor, make.values([[-300], [300]], int32))


def shifts(make: TensorMaker) -> Iterator[SampleInput]:
    for left, right in BROADCAST:
        yield SampleInput(make(left), make(right, low=0, high=70))


def shifts_by_number(make: TensorMaker) -> Iterator[SampleInput]:
    return iter(with_each(0, 2, 7, 70)(make))


def shifts_of_number(make: TensorMaker) -> Iterator[SampleInput]:
    for shape in ((2, 3), (), (0, 3)):
        yield SampleInput(5, make(shape, low=0, high=7))


def shifted(function: Any) -> Any:
    """Return a reference that says what a shift by more bits than there are is."""

    def reference(x: Any, other: Any) -> Any:
        own = other.dtype if isinstance(x, int) else x.dtype
        own = np.dtype(np.int64) if own.kind == "b" else own
        bits = own.itemsize * 8
        wide = function(np.asarray(x, np.int64), np.clip(other, 0, bits - 1))
        beyond = np.where(np.asarray(x) < 0, -1, 0) if function is np.right_shift else 0
        return np.where(np.asarray(other) >= bits, beyond, wide).astype(own)

    return reference


def numbers_first(*numbers: float) -> Samples:
    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for number in numbers:
            for shape in ((2, 3), (), (0, 3)):
                yield SampleInput(number, make(shape))

    return samples


def xlogy(x: np.ndarray, y: np.ndarray) -> Any:
    return np.where(x == 0, 0, x * np.log(np.where(np.asarray(x) == 0, 1, y)))


def powers(make: TensorMaker) -> Iterator[SampleInput]:
    for left, right in BROADCAST:
        yield SampleInput(make(left), make(right))


def wide_power(x: np.ndarray, y: np.ndarray) -> Any:
    kind = np.complex128 if np.iscomplexobj(x) or np.iscomplexobj(y) else np.float64
    return np.power(np.asarray(x, kind), np.asarray(y, kind))


no_floats = refused(
    lambda make: SampleInput(make(2), make(2)), NotImplementedError, "not implemented for 'Float'"
)

NARROW = (
    Skip("inplace", "the result is wide, and the text of its own", ALL - {float64, complex128}),
)

NUMBER_PARTS: list[OpInfo] = [
    info("copysign.Tensor", signed, np.copysign, REAL, errors=mismatch()),
    info("copysign.Scalar", with_each(-2, 3), np.copysign, REAL),
    info("signbit", with_sign, np.signbit, REAL, supports_autograd=False),
    info("isposinf", unary(), lambda x: np.isposinf(x * 1.0), REAL, supports_autograd=False),
    info("isneginf", unary(), lambda x: np.isneginf(x * 1.0), REAL, supports_autograd=False),
    info("isreal", unary(), np.isreal, ALL, supports_autograd=False),
    info(
        "nextafter",
        binary(),
        np.nextafter,
        FLOATING,
        errors=mismatch(),
        skips=(Skip("reference", "the next number is one of the own dtype", FLOATING - {float64}),),
    ),
    info(
        "heaviside",
        binary(),
        heaviside,
        REAL,
        errors=refusals(
            (lambda make: SampleInput(make(2), make(2).double()), RuntimeError, "heaviside|dtype")
        ),
        supports_autograd=False,
    ),
    info("ldexp.Tensor", exponents, lambda x, y: x * np.exp2(y), ALL),
    info("frexp.Tensor", unary(), np.frexp, FLOATING),
    info("round.decimals", with_decimals, rounded, FLOATING),
    info("gcd", binary(), np.gcd, INTEGERS, errors=no_floats, supports_autograd=False),
    info("lcm", binary(), np.lcm, INTEGERS, errors=no_floats, supports_autograd=False),
    *[
        info(f"{name}.{overload}", samples, shifted(ref), dtypes, supports_autograd=False)
        for names, ref in (
            (("bitwise_left_shift", "__lshift__"), np.left_shift),
            (("bitwise_right_shift", "__rshift__"), np.right_shift),
        )
        for name in names
        for overload, samples, dtypes in (
            ("Tensor", shifts, INTEGERS),
            ("Scalar" if name[0] == "_" else "Tensor_Scalar", shifts_by_number, INTEGRAL),
            *([] if name[0] == "_" else [("Scalar_Tensor", shifts_of_number, INTEGRAL)]),
        )
    ],
    two("logaddexp2", np.logaddexp2, FLOATING),
    two("fmax", np.fmax, REAL),
    two("fmin", np.fmin, REAL),
    info("deg2rad", unary(), np.deg2rad, REAL),
    info("rad2deg", unary(), np.rad2deg, REAL),
    info("xlogy.Scalar_Self", numbers_first(2, 0), xlogy, REAL, domain=POSITIVE),
    info("xlogy.Scalar_Other", with_each(2, 3), xlogy, REAL, domain=POSITIVE),
    info(
        "float_power.Tensor_Tensor",
        powers,
        wide_power,
        ALL,
        domain=POSITIVE,
        errors=mismatch(),
        skips=NARROW,
    ),
    info(
        "float_power.Tensor_Scalar", with_each(2, 3), wide_power, ALL, domain=POSITIVE, skips=NARROW
    ),
    info("float_power.Scalar", numbers_first(2, 3), wide_power, ALL, domain=POSITIVE),
    info("conj_physical", unary(), np.conj, ALL),
    info("resolve_neg", unary(), lambda x: x, ALL),
    info("is_conj", unary(), lambda x: False, ALL, supports_autograd=False),
    info("is_neg", unary(), lambda x: False, ALL, supports_autograd=False),
]
