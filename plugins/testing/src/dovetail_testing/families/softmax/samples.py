"""Samples of activations, normalizations and embeddings, and of their gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, Skip, TensorMaker
from dovetail_kernel import bfloat16, float64, uint8

from ..makers import (
    FLOATING,
    INEXACT,
    NUMBERS,
    REAL_NUMBERS,
    Samples,
    dim_out_of_range,
    gradients_of,
    indices,
    is_inexact,
    joined,
    op_info,
    refusals,
    refused,
    smooth,
    unary,
)

info = partial(op_info, family="nn")
erf = np.vectorize(math.erf, otypes=[float])


# -- activations -----------------------------------------------------------------------------------


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def gelu(x: Any, approximate: str = "none") -> Any:
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def elu(x: Any, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Any:
    return scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) * input_scale))


def leaky_relu(x: Any, slope: float = 0.01) -> Any:
    return np.where(x > 0, x, x * slope)


def softplus(x: Any, beta: float = 1, threshold: float = 20) -> Any:
    return np.where(x * beta > threshold, x, np.log1p(np.exp(np.minimum(x * beta, 700))) / beta)


def log_sigmoid(x: Any) -> Any:
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


def slope_of(function: Callable[..., Any], step: float = 1e-6) -> Callable[..., Any]:
    """Return the reference of a gradient: the slope of the activation, by differences."""

    def reference(grad: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        above, below = (function(x + sign * step, *args, **kwargs) for sign in (1, -1))
        return grad * (above - below) / (2 * step)

    return reference


def silu_slope(grad: Any, x: Any) -> Any:
    return grad * np.conj(sigmoid(x) * (1 + x * (1 - sigmoid(x))))


def elu_slope(
    grad: Any, alpha: float, scale: float, input_scale: float, is_result: bool, x: Any
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


def prelu(x: Any, weight: Any) -> Any:
    if weight.size > 1 and x.ndim > 2:
        weight = weight.reshape(-1, *[1] * (x.ndim - 2))
    return np.where(x > 0, x, x * weight)


def prelu_gradients(grad: Any, x: Any, weight: Any) -> Any:
    return np.where(x > 0, grad, grad * weight), np.where(x > 0, 0, grad * x)


BETAS = joined(unary(), smooth(2, 1))
ELUS = joined(unary(), smooth(1.5, 2.0, 0.5))
GELUS = joined(smooth(), smooth(approximate="tanh"))
TANHS = joined(unary(), smooth(-2, 1))
not_float = refused(
    lambda make: SampleInput(indices(make, [1, 2])), RuntimeError, "not implemented for 'Long'"
)

ACTIVATIONS = [
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


# -- softmax and normalization ---------------------------------------------------------------------


def along(*more: Any) -> Samples:
    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for shape, dim in (
            ((2, 3), 1),
            ((2, 3), 0),
            ((3,), -1),
            ((), 0),
            ((2, 1, 3), 2),
            ((0, 3), 1),
        ):
            yield SampleInput(make(shape), dim, *more)

    return samples


def softmax(x: Any, dim: int, *args: Any, **kwargs: Any) -> Any:
    made = np.exp(x - x.max(dim, keepdims=True)) if x.ndim else np.ones_like(x)
    return made / made.sum(dim, keepdims=True) if x.ndim else made


def log_softmax(x: Any, dim: int, *args: Any, **kwargs: Any) -> Any:
    if x.ndim == 0 or x.size == 0:
        return np.zeros_like(x)
    x = x - x.max(dim, keepdims=True)
    return x - np.log(np.exp(x).sum(dim, keepdims=True))


def softmax_gradients(make: TensorMaker) -> Iterator[SampleInput]:
    for shape, dim in (((2, 3), 1), ((3,), 0), ((2, 1, 3), -1)):
        yield SampleInput(make(shape), make(shape), dim, make.dtype)


def summed(x: Any, dim: int) -> Any:
    return x.sum(dim, keepdims=True)


def normalized(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 4), (4,), make(4), make(4), 1e-5)
    yield SampleInput(make(2, 4), (4,), None, None, 1e-5)
    yield SampleInput(make(2, 2, 3), (2, 3), make(2, 3), None, 1e-3)
    yield SampleInput(make(4), (4,), make(4), make(4), 1e-5)
    yield SampleInput(make(0, 4), (4,), make(4), make(4), 1e-5)


def moments(x: Any, shape: Any, eps: float) -> Any:
    dims = tuple(range(-len(shape), 0))
    mean = x.mean(dims, keepdims=True)
    return mean, 1 / np.sqrt(((x - mean) ** 2).mean(dims, keepdims=True) + eps)


def layer_norm(x: Any, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    return native_layer_norm(x, shape, weight, bias, eps)[0]


def native_layer_norm(x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    mean, rstd = moments(x, shape, eps)
    made = (x - mean) * rstd
    made = made if weight is None else made * weight
    return made if bias is None else made + bias, mean, rstd


def norm_gradients(make: TensorMaker) -> Iterator[SampleInput]:
    """Yield gradients with the moments of the input, which the formula takes for granted."""
    for shape, dims, mask in (
        ((2, 4), (4,), (True,) * 3),
        ((2, 2, 3), (2, 3), (True, False, True)),
    ):
        x, weight, bias = make(shape), make(dims), make(dims)
        axes = tuple(range(-len(dims), 0))
        flat = x.detach() if is_inexact(make) else x.to(float64)
        mean = flat.mean(axes, True)
        rstd = ((flat - mean) * (flat - mean)).mean(axes, True).add(1e-5).rsqrt()
        yield SampleInput(make(shape), x, dims, mean, rstd, weight, bias, mask)


def embeddings(make: TensorMaker) -> Iterator[SampleInput]:
    for values in ([0, 2], [[0, 1], [1, 3]], 2, []):
        yield SampleInput(make(4, 3), indices(make, values))
    if not make.requires_grad:  # the row that stands for padding has no gradient
        yield SampleInput(make(4, 3), indices(make, [1, 2]), 1)


def embedding_gradients(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), indices(make, [0, 2]), 4, -1, False)
    yield SampleInput(make(2, 2, 3), indices(make, [[0, 1], [1, 3]]), 4, 1, False)


def gathered(grad: Any, index: Any, count: int, padding: int, scale: bool) -> Any:
    result = np.zeros((count, grad.shape[-1]), grad.dtype)
    rows = grad.reshape(-1, grad.shape[-1])
    for row, place in zip(rows, index.astype(int).reshape(-1), strict=True):
        if place != padding:
            result[place] += row
    return result


def pairs_of_vectors(make: TensorMaker) -> Iterator[SampleInput]:
    for shape in ((2,), (), (2, 1), (0,)):
        yield SampleInput(make(*shape, 3), make(*shape, 4), make(5, 3, 4), make(5))
    yield SampleInput(make(2, 3), make(2, 4), make(5, 3, 4))


def bilinear(x: Any, y: Any, weight: Any, bias: Any = None) -> Any:
    made = np.einsum("...i,kij,...j->...k", x, weight, y)
    return made if bias is None else made + bias


MOMENTS = "the formula takes the moments for the input's, which differences do not move"
LOOSE = {bfloat16: (5e-2, 5e-2)}

NORMALIZED = [
    info("_softmax", along(False), softmax, FLOATING, errors=dim_out_of_range(5, False)),
    info("_log_softmax", along(False), log_softmax, FLOATING, errors=dim_out_of_range(5, False)),
    info(
        "softmax.int",
        joined(along(), along(float64)),
        softmax,
        FLOATING,
        errors=dim_out_of_range(5),
    ),
    info(
        "log_softmax.int",
        joined(along(), along(float64)),
        log_softmax,
        FLOATING,
        errors=dim_out_of_range(5),
    ),
    info(
        "_softmax_backward_data",
        softmax_gradients,
        lambda g, y, dim, _: (g - summed(g * y, dim)) * y,
        FLOATING,
    ),
    info(
        "_log_softmax_backward_data",
        softmax_gradients,
        lambda g, y, dim, _: g - summed(g, dim) * np.exp(y),
        FLOATING,
    ),
    info(
        "layer_norm",
        normalized,
        layer_norm,
        FLOATING,
        tolerances=LOOSE,
        errors=refused(
            lambda make: SampleInput(make(2, 3), (4,)),
            RuntimeError,
            r"Given normalized_shape=\[4\]",
        ),
    ),
    info("native_layer_norm", normalized, native_layer_norm, FLOATING, tolerances=LOOSE),
    info(
        "native_layer_norm_backward",
        norm_gradients,
        None,
        FLOATING,
        skips=tuple(
            [
                Skip(
                    check,
                    MOMENTS,
                )
                for check in ("gradients", "forward_ad", "vmap_gradients", "gradgrad")
            ]
        ),
    ),
    info(
        "bilinear",
        pairs_of_vectors,
        bilinear,
        NUMBERS,
        errors=refusals(
            (
                lambda make: SampleInput(make(2, 3), make(3, 4), make(5, 3, 4)),
                RuntimeError,
                r"bilinear\(\): input batch dimensions do not match at dim 0: got 2 and 3",
            ),
            (
                lambda make: SampleInput(make(2, 3), make(2, 4), make(5, 3, 3)),
                RuntimeError,
                r"bilinear\(\): input2 size does not match weight size",
            ),
        ),
    ),
    info("embedding", embeddings, lambda w, i, *args: w[i.astype(int)]),
    info("embedding_dense_backward", embedding_gradients, gathered),
]

OP_INFOS = [*ACTIVATIONS, *NORMALIZED]
