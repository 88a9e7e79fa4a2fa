"""Samples of activations, and of their gradients."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, TensorMaker

from ..makers import (
    FLOATING,
    REAL_NUMBERS,
    Errors,
    gradients_of,
    indices,
    joined,
    op_info,
    refusals,
    smooth,
    unary,
)
from .unit_samples import UNITS, elu, sigmoid, slope_of

info = partial(op_info, family="activations")

SELU = (1.6732632423543772, 1.0507009873554805)


def not_float(*rows: Any) -> Errors:
    """Return the refusal of integers, and others."""
    return refusals(
        (
            lambda make: SampleInput(indices(make, [1, 2])),
            NotImplementedError,
            "not implemented for 'Long'",
        ),
        *rows,
    )


def hardsigmoid(x: np.ndarray) -> Any:
    return np.clip(x + 3, 0, 6) / 6


def mish(x: np.ndarray) -> Any:
    return x * np.tanh(np.logaddexp(0, x))


def hardshrink(x: np.ndarray, bound: float = 0.5) -> Any:
    return np.where(np.abs(x) <= bound, 0, x)


def softshrink(x: np.ndarray, bound: float = 0.5) -> Any:
    return np.where(np.abs(x) <= bound, 0, x - np.sign(x) * bound)


def celu(x: np.ndarray, alpha: float = 1.0) -> Any:
    return np.maximum(x, 0) + np.minimum(alpha * np.expm1(x / alpha), 0)


def rrelu(x: np.ndarray, lower: float = 1 / 8, upper: float = 1 / 3) -> Any:
    return np.where(x > 0, x, x * (lower + upper) / 2)


def glu(x: np.ndarray, dim: int = -1) -> Any:
    value, gate = np.split(x, 2, dim)
    return value * sigmoid(gate)


def glu_slope(grad: np.ndarray, x: np.ndarray, dim: int) -> Any:
    value, gate = np.split(x, 2, dim)
    s = sigmoid(gate)
    return np.concatenate([grad * s, grad * value * s * (1 - s)], dim)


def shrunk(grad: np.ndarray, x: np.ndarray, bound: float) -> Any:
    return np.where(np.abs(x) <= bound, 0, grad)


def halved(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 4))
    for shape, dim in (((4,), -1), ((2, 3), 0), ((2, 2, 6), 1), ((0, 4), 1), ((4, 0), 1)):
        yield SampleInput(make(shape), dim)


def halved_gradients(make: TensorMaker) -> Iterator[SampleInput]:
    for shape, half, dim in (((2, 4), (2, 2), -1), ((4, 3), (2, 3), 0), ((4,), (2,), 0)):
        yield SampleInput(make(half), make(shape), dim)


SHRUNK = joined(unary(), smooth(0.75), smooth(0))
CELUS = joined(smooth(), smooth(1.5), smooth(-0.5))
RRELUS = joined(smooth(), smooth(0.25, 0.5))
odd = (
    lambda make: SampleInput(make(2, 3)),
    RuntimeError,
    "Halving dimension must be even, but dimension 1 is size 3",
)
no_dimension = (
    lambda make: SampleInput(make(())),
    RuntimeError,
    "glu does not support 0-dimensional tensors",
)
swapped = (
    lambda make: SampleInput(make(2), 0.5, 0.25),
    RuntimeError,
    "Lower bound should be less than or equal to the upper bound",
)
infinite = (
    lambda make: SampleInput(make(2), 0.5, np.inf),
    RuntimeError,
    "rrelu: upper bound must be finite",
)
negative = (
    lambda make: SampleInput(make(2), -0.5),
    RuntimeError,
    r"lambda must be in range \[0, 3\.40282e\+38\] for input dtype Float, but found -0\.5",
)
zero = (lambda make: SampleInput(make(2), 0), RuntimeError, "alpha cannot be 0 for CELU")

OP_INFOS = [
    *UNITS,
    info("hardswish", smooth(), lambda x: x * hardsigmoid(x), FLOATING, errors=not_float()),
    info("hardsigmoid", unary(), hardsigmoid, FLOATING, errors=not_float()),
    info("mish", smooth(), mish, FLOATING, errors=not_float()),
    info("hardshrink", SHRUNK, hardshrink, FLOATING, errors=not_float()),
    info("softshrink", SHRUNK, softshrink, FLOATING, errors=not_float(negative)),
    info("celu", CELUS, celu, FLOATING, errors=not_float(zero)),
    info("selu", unary(), lambda x: elu(x, *SELU), FLOATING, errors=not_float()),
    info("selu_", unary(), lambda x: elu(x, *SELU), FLOATING),
    info("relu6", unary(), lambda x: np.clip(x, 0, 6), REAL_NUMBERS),
    info("relu6_", unary(), lambda x: np.clip(x, 0, 6), REAL_NUMBERS),
    info("rrelu", RRELUS, rrelu, FLOATING, errors=not_float(swapped, infinite)),
    info("rrelu_", RRELUS, rrelu, FLOATING, errors=refusals(swapped)),
    info("glu", halved, glu, FLOATING, errors=not_float(odd, no_dimension)),
    info(
        "hardswish_backward",
        gradients_of(smooth()),
        slope_of(lambda x: x * hardsigmoid(x)),
        FLOATING,
    ),
    info("hardsigmoid_backward", gradients_of(smooth()), slope_of(hardsigmoid), FLOATING),
    info("mish_backward", gradients_of(smooth()), slope_of(mish), FLOATING),
    info("hardshrink_backward", gradients_of(smooth(0.5)), shrunk, FLOATING),
    info("softshrink_backward", gradients_of(smooth(0.5)), shrunk, FLOATING),
    info("glu_backward", halved_gradients, glu_slope, FLOATING),
]
