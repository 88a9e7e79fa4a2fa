"""Samples of layer normalization and its gradient."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, Skip, TensorMaker
from dovetail_kernel import bfloat16, float64

from ..makers import FLOATING, is_inexact, op_info, refused

info = partial(op_info, family="normalization")

MOMENTS = "the formula takes the moments for the input's, which differences do not move"
LOOSE = {bfloat16: (5e-2, 5e-2)}


def normalized(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 4), (4,), make(4), make(4), 1e-5)
    yield SampleInput(make(2, 4), (4,), None, None, 1e-5)
    yield SampleInput(make(2, 2, 3), (2, 3), make(2, 3), None, 1e-3)
    yield SampleInput(make(4), (4,), make(4), make(4), 1e-5)
    yield SampleInput(make(0, 4), (4,), make(4), make(4), 1e-5)


def moments(x: np.ndarray, shape: Sequence[int], eps: float) -> Any:
    dims = tuple(range(-len(shape), 0))
    mean = x.mean(dims, keepdims=True)
    return mean, 1 / np.sqrt(((x - mean) ** 2).mean(dims, keepdims=True) + eps)


def layer_norm(
    x: np.ndarray,
    shape: object,
    weight: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    eps: float = 1e-5,
) -> Any:
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


LAYER_NORM = [
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
                Skip(check, MOMENTS)
                for check in ("gradients", "forward_ad", "vmap_gradients", "gradgrad")
            ]
        ),
    ),
]
