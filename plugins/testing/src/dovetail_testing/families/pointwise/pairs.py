"""Samples of the pointwise operators of two operands: arithmetic, comparison, logic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail_aten.typing import Scalar
from dovetail_dispatcher.testing import OpInfo, SampleInput, TensorMaker
from dovetail_kernel import dtype

from ..makers import (
    ALL,
    BROADCAST,
    FLOATING,
    INEXACT,
    INTEGRAL,
    NUMBERS,
    REAL,
    REAL_NUMBERS,
    binary,
    is_inexact,
    mismatch,
    op_info,
    with_each,
)

info = partial(op_info, family="pointwise")

POSITIVE = (0.3, 2.1)


def numbers_before(make: TensorMaker) -> Iterator[SampleInput]:
    """Yield numbers as first operands."""
    for shape in ((2, 3), (), (0, 3)):
        for number in (5, True):
            yield SampleInput(number, make(shape))


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


def divided(x: np.ndarray, y: Scalar, rounding_mode: str | None = None) -> Any:
    if rounding_mode is None:
        return np.true_divide(x, y)
    if rounding_mode == "floor":
        return np.floor_divide(x, y)
    return np.trunc(np.true_divide(x, y)).astype(np.result_type(x, y))


def raised(x: Scalar, y: np.ndarray) -> Any:
    """Raise to a power; NumPy refuses those of bools and signed integers to a number below 0."""
    return np.power(x, y)


def logaddexp(x: np.ndarray, y: np.ndarray) -> Any:
    return np.log(np.exp(x) + np.exp(y)) if np.iscomplexobj(x) else np.logaddexp(x, y)


def xlogy(x: np.ndarray, y: np.ndarray) -> Any:
    return np.where(x == 0, 0, x * np.log(np.where(x == 0, 1, y)))


def powers(make: TensorMaker) -> Iterator[SampleInput]:
    numbers = (2, 3, 0, 1, -1, 0.5, 2.7) if is_inexact(make) else (2, 3, 0, 1)
    return iter(with_each(*numbers)(make))


def powers_of_tensors(make: TensorMaker) -> Iterator[SampleInput]:
    for left, right in BROADCAST:
        yield SampleInput(
            make(left), make(right) if is_inexact(make) else make(right, low=0, high=4)
        )


def powers_of_numbers(make: TensorMaker) -> Iterator[SampleInput]:
    for number in (2, 0.7) if is_inexact(make) else (2, 3):
        for shape in ((2, 3), (), (0, 3)):
            yield SampleInput(
                number, make(shape) if is_inexact(make) else make(shape, low=0, high=4)
            )


ALPHAS: tuple[dict[str, Any], ...] = ({}, {"alpha": 2})
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
    *pairs(
        "div",
        divided,
        REAL_NUMBERS,
        with_number=REAL,
        mode="_mode",
        options=MODES,
        least=1,
        special=False,
        **STEP,
    ),
    *pairs(
        "divide",
        divided,
        REAL_NUMBERS,
        with_number=REAL,
        mode="_mode",
        options=MODES,
        least=1,
        special=False,
        **STEP,
    ),
    *pairs(
        "floor_divide",
        np.floor_divide,
        REAL_NUMBERS,
        with_number=REAL,
        least=1,
        special=False,
        overloads=("", ".Scalar"),
        supports_autograd=False,
    ),
    *pairs(
        "remainder", np.remainder, REAL_NUMBERS, with_number=REAL, least=1, special=False, **STEP
    ),
    *pairs("fmod", np.fmod, REAL_NUMBERS, with_number=REAL, least=1, special=False, **STEP),
    info(
        "pow.Tensor_Tensor", powers_of_tensors, raised, NUMBERS, domain=POSITIVE, errors=mismatch()
    ),
    info("pow.Tensor_Scalar", powers, raised, domain=POSITIVE),
    info("pow.Scalar", powers_of_numbers, raised, domain=POSITIVE),
    two("atan2", np.arctan2, REAL, domain=POSITIVE),
    two("arctan2", np.arctan2, REAL, domain=POSITIVE),
    two("hypot", np.hypot, FLOATING, domain=POSITIVE),
    two("logaddexp", logaddexp, INEXACT),
    info("xlogy.Tensor", binary(special=False), xlogy, REAL, domain=POSITIVE, errors=mismatch()),
]


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
    *[
        two(f"logical_{n}", getattr(np, f"logical_{n}"), supports_autograd=False)
        for n in ("and", "or", "xor")
    ],
    *[
        info
        for n in ("and", "or", "xor")
        for name in (f"bitwise_{n}", f"__{n}__")
        for info in pairs(
            name, getattr(np, f"bitwise_{n}"), INTEGRAL, numbers=(2, 5), supports_autograd=False
        )
    ],
    *[
        info(
            f"bitwise_{n}.Scalar_Tensor",
            numbers_before,
            getattr(np, f"bitwise_{n}"),
            INTEGRAL,
            supports_autograd=False,
        )
        for n in ("and", "or", "xor")
    ],
]
