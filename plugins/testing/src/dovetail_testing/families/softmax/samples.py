"""Samples of softmax and its gradients."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, TensorMaker
from dovetail_kernel import float64

from ..makers import FLOATING, Samples, dim_out_of_range, is_inexact, joined, op_info

info = partial(op_info, family="softmax")


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


def softmax(x: np.ndarray, dim: int, *args: Any, **kwargs: Any) -> Any:
    made = np.exp(x - x.max(dim, keepdims=True)) if x.ndim else np.ones_like(x)
    return made / made.sum(dim, keepdims=True) if x.ndim else made


def log_softmax(x: np.ndarray, dim: int, *args: Any, **kwargs: Any) -> Any:
    if x.ndim == 0 or x.size == 0:
        return np.zeros_like(x)
    x = x - x.max(dim, keepdims=True)
    return x - np.log(np.exp(x).sum(dim, keepdims=True))


def softmax_gradients(make: TensorMaker) -> Iterator[SampleInput]:
    for shape, dim in (((2, 3), 1), ((3,), 0), ((2, 1, 3), -1)):
        yield SampleInput(make(shape), make(shape), dim, make.dtype)


def summed(x: np.ndarray, dim: int) -> Any:
    return x.sum(dim, keepdims=True)


def masked_rows(make: TensorMaker) -> Iterator[SampleInput]:
    """Yield rows some of which are minus infinity altogether."""
    for shape, dim in (((2, 3), 1), ((2, 3), 0), ((3,), -1), ((), 0), ((0, 3), 1)):
        yield SampleInput(make(shape), dim)
    if is_inexact(make) and not make.requires_grad:
        low = -np.inf
        yield SampleInput(make.values([[low, low, low], [1.0, low, 2.0]]), 1)


def safe_softmax(x: np.ndarray, dim: int, *args: Any) -> Any:
    if not x.size:
        return x
    masked = np.isneginf(x).all(dim, keepdims=True)
    return np.where(masked, 0, softmax(np.where(masked, 0, x), dim))


OP_INFOS = [
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
    info("_safe_softmax", masked_rows, safe_softmax, FLOATING, errors=dim_out_of_range(5)),
]
