"""Samples of rectified, exponential and Gaussian units, and of their gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, TensorMaker
from dovetail_kernel import uint8

from ..makers import (
    FLOATING,
    INEXACT,
    REAL_NUMBERS,
    gradients_of,
    indices,
    is_inexact,
    joined,
    op_info,
    refused,
    smooth,
    unary,
)

info = partial(op_info, family="activations")
erf = np.vectorize(math.erf, otypes=[float])


def sigmoid(x: np.ndarray) -> Any:
    return 1 / (1 + np.exp(-x))


def gelu(x: np.ndarray, approximate: str = "none") -> Any:
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def elu(x: np.ndarray, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Any:
    return scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) * input_scale))


def leaky_relu(x: np.ndarray, slope: float = 0.01) -> Any:
    return np.where(x > 0, x, x * slope)


def softplus(x: np.ndarray, beta: float = 1, threshold: float = 20) -> Any:
    return np.where(x * beta > threshold, x, np.log1p(np.exp(np.minimum(x * beta, 700))) / beta)


def log_sigmoid(x: np.ndarray) -> Any:
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


def slope_of(function: Callable[..., Any], step: float = 1e-6) -> Callable[..., Any]:
    """Return the reference of a gradient: the slope of the activation, by differences."""

    def reference(grad: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        above, below = (function(x + sign * step, *args, **kwargs) for sign in (1, -1))
        return grad * (above - below) / (2 * step)

    return reference


def silu_slope(grad: np.ndarray, x: np.ndarray) -> Any:
    return grad * np.conj(sigmoid(x) * (1 + x * (1 - sigmoid(x))))


def elu_slope(
    grad: np.ndarray, alpha: float, scale: float, input_scale: float, is_result: bool, x: np.ndarray
) -> Any:
    if is_result:
        slope = np.where(x > 0, scale, input_scale * (x + alpha * scale))
        return grad * slope
    return slope_of(elu)(grad, x, alpha, scale, input_scale)


def elu_gradients(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 1.0, 1.0, 1.0, False, make(2, 3))
    yield SampleInput(make(3), 1.5, 2.0, 0.5, False, make(3))
    yield SampleInput(make(3), 1.0, 1.0, 1.0, True, make(3, low=-0.9))
    yield SampleInput(make(()), 1.0, 1.0, 1.0, False, make(()))
    yield SampleInput(make(0, 3), 1.0, 1.0, 1.0, False, make(0, 3))


def log_sigmoid_gradients(make: TensorMaker) -> Iterator[SampleInput]:
    """Yield gradients and inputs with the buffer that the forward operator saves."""
    for shape in ((2, 3), ()):
        x = make(shape)
        yield SampleInput(make(shape), x, x.detach().abs().neg().exp() if is_inexact(make) else x)


def slopes(make: TensorMaker) -> Iterator[SampleInput]:
    """Yield inputs and weights of parametric units, of one shape."""
    for shape in ((2, 3), (3,), (), (0, 3)):
        yield SampleInput(make(shape), make(shape))


def parametric(make: TensorMaker) -> Iterator[SampleInput]:
    for shape, weight in (((2, 3), (1,)), ((2, 3), (3,)), ((3,), (1,)), ((2, 3, 2), (3,))):
        yield SampleInput(make(shape), make(weight))


def prelu(x: np.ndarray, weight: np.ndarray) -> Any:
    if weight.size > 1 and x.ndim > 2:
        weight = weight.reshape(-1, *[1] * (x.ndim - 2))
    return np.where(x > 0, x, x * weight)


def prelu_gradients(grad: np.ndarray, x: np.ndarray, weight: np.ndarray) -> Any:
    return np.where(x > 0, grad, grad * weight), np.where(x > 0, 0, grad * x)


BETAS = joined(unary(), smooth(2, 1))
ELUS = joined(unary(), smooth(1.5, 2.0, 0.5))
GELUS = joined(smooth(), smooth(approximate="tanh"))
TANHS = joined(unary(), smooth(-2, 1))
not_float = refused(
    lambda make: SampleInput(indices(make, [1, 2])), RuntimeError, "not implemented for 'Long'"
)

UNITS = [
    info("relu", unary(), lambda x: np.maximum(x, 0), REAL_NUMBERS),
    info("leaky_relu", joined(unary(), smooth(0.2)), leaky_relu, FLOATING, errors=not_float),
    info("elu", ELUS, elu, FLOATING, errors=not_float),
    info("gelu", GELUS, gelu, FLOATING, errors=not_float),
    info("silu", unary(), lambda x: x * sigmoid(x), INEXACT, errors=not_float),
    info("softplus", BETAS, softplus, FLOATING, errors=not_float),
    info(
        "hardtanh", TANHS, lambda x, low=-1, high=1: np.clip(x, low, high), REAL_NUMBERS - {uint8}
    ),
    info("log_sigmoid", smooth(), log_sigmoid, FLOATING, errors=not_float),
    info("log_sigmoid_forward", smooth(), None, FLOATING),
    info("prelu", parametric, prelu, FLOATING),
    info("_prelu_kernel", slopes, lambda x, w: np.where(x > 0, x, x * w), FLOATING),
    info("threshold", smooth(0.1, 5), lambda x, t, v: np.where(x > t, x, v), REAL_NUMBERS),
    info("gelu_backward", gradients_of(GELUS), slope_of(gelu), FLOATING),
    info("silu_backward", gradients_of(smooth()), silu_slope, INEXACT),
    info("elu_backward", elu_gradients, elu_slope, FLOATING),
    info(
        "leaky_relu_backward",
        gradients_of(smooth(0.2, False)),
        lambda g, x, slope, _: np.where(x > 0, g, g * slope),
        FLOATING,
    ),
    info("softplus_backward", gradients_of(smooth(2, 20)), slope_of(softplus), FLOATING),
    info(
        "hardtanh_backward",
        gradients_of(smooth(-0.5, 0.75)),
        lambda g, x, low, high: np.where((x > low) & (x < high), g, 0),
        FLOATING,
    ),
    info(
        "log_sigmoid_backward",
        log_sigmoid_gradients,
        lambda g, x, _: slope_of(log_sigmoid)(g, x),
        FLOATING,
    ),
    info(
        "threshold_backward",
        gradients_of(smooth(0.1)),
        lambda g, x, t: np.where(x > t, g, 0),
        REAL_NUMBERS,
    ),
    info("_prelu_kernel_backward", gradients_of(slopes), prelu_gradients, FLOATING),
]
