"""Samples of distances, and of what limits lengths."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, Skip, TensorMaker
from dovetail_kernel import bfloat16, float16, float32, float64, uint8

from ..makers import (
    BROADCAST,
    FLOATING,
    INEXACT,
    NUMBERS,
    dim_out_of_range,
    mismatch,
    op_info,
    refusals,
)

info = partial(op_info, family="distances")

FULL = frozenset({float32, float64})


def norm(x: np.ndarray, p: float, dim: Any, keepdim: bool = False) -> Any:
    size = np.abs(x)
    if p == 0:
        return (size != 0).sum(dim, keepdims=keepdim).astype(size.dtype)
    if p == np.inf:
        return size.max(dim, keepdims=keepdim)
    return (size**p).sum(dim, keepdims=keepdim) ** (1 / p)


def pairs(make: TensorMaker) -> Iterator[SampleInput]:
    for shape, other in (((2, 3), (2, 3)), ((2, 3), (3,)), ((3,), (3,)), ((0, 3), (3,))):
        yield SampleInput(make(shape), make(other))
    yield SampleInput(make(2, 3), make(2, 3), 1.0, 1e-3, True)
    yield SampleInput(make(2, 3), make(2, 3), 3.0)


def pairwise(x: Any, y: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    return norm(x - y + eps, p, -1, keepdim)


def alike(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(2, 3))
    for shape, other, dim in (((3,), (3,), 0), ((2, 3), (3,), -1), ((2, 1, 3), (4, 3), 1)):
        yield SampleInput(make(shape), make(other), dim)


def cosine(x: np.ndarray, y: np.ndarray, dim: int = 1, eps: float = 1e-8) -> Any:
    x, y = np.broadcast_arrays(x, y)
    sizes = [np.maximum(norm(each, 2, dim, True), eps) for each in (x, y)]
    return (x / sizes[0] * (y / sizes[1])).sum(dim)


def apart(make: TensorMaker) -> Iterator[SampleInput]:
    for left, right in BROADCAST[:6]:
        yield SampleInput(make(left), make(right))
    for p in (1, 3, 0.5):
        yield SampleInput(make(2, 3), make(2, 3), p)


def dist(x: np.ndarray, y: np.ndarray, p: float = 2) -> Any:
    return norm(np.asarray(x - y), p, None)


def chebyshev(make: TensorMaker) -> tuple[float, ...]:
    """Return the order whose norm is not differentiable where two differences are the greatest."""
    return () if make.requires_grad else (np.inf,)


def rows(make: TensorMaker) -> Iterator[SampleInput]:
    for shape in ((4, 3), (1, 3), (2, 1), (0, 3)):
        yield SampleInput(make(shape))
    for p in (1.0, 3.0, *chebyshev(make)):
        yield SampleInput(make(4, 3), p)


def pdist(x: np.ndarray, p: float = 2.0) -> Any:
    i, j = np.triu_indices(len(x), 1)
    return norm(x[i] - x[j], p, 1) if x.shape[1] else np.zeros(len(i))


def two_sets(make: TensorMaker) -> Iterator[SampleInput]:
    for left, right in (((4, 3), (2, 3)), ((2, 1, 4, 3), (5, 2, 3)), ((0, 3), (2, 3))):
        yield SampleInput(make(left), make(right))
    for p in (1.0, 3.0, *chebyshev(make)):
        yield SampleInput(make(4, 3), make(2, 3), p)
    yield SampleInput(make(4, 3), make(2, 3, low=10, high=11), 2.0, 1)
    yield SampleInput(make(30, 3), make(2, 3, low=10, high=11))
    yield SampleInput(make(30, 3), make(2, 3), 2.0, 2)


def cdist(x: Any, y: Any, p: float = 2.0, mode: object = None) -> Any:
    return norm(x[..., :, None, :] - y[..., None, :, :], p, -1)


def far_apart(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make(4, 3), make(2, 3, low=10, high=11))
    yield SampleInput(make(2, 1, 4, 3), make(5, 2, 3, low=10, high=11))


def long_rows(make: TensorMaker) -> Iterator[SampleInput]:
    rows = ((2, 0, 1), (1, -1, 0.5), (3, 1, 2.5), (2, 0, 100))
    for p, dim, limit in (*rows, *([] if make.dtype.is_complex else [(np.inf, 0, 0.25)])):
        yield SampleInput(make(2, 3), p, dim, limit)
    yield SampleInput(make(2, 2, 3), 2, 1, 1)
    yield SampleInput(make(0, 3), 2, 0, 1)


def renorm(x: np.ndarray, p: float, dim: int, limit: float) -> Any:
    if not x.size:
        return x
    size = norm(np.moveaxis(x, dim, 0).reshape(x.shape[dim], -1), p, 1)
    factor = np.where(size > limit, limit / (size + 1e-7), 1)
    return np.moveaxis(np.moveaxis(x, dim, -1) * factor, -1, dim)


WRAPS = (Skip("reference", "differences of bytes wrap around", dtypes=frozenset({uint8})),)

OP_INFOS = [
    info("pairwise_distance", pairs, pairwise, NUMBERS, errors=mismatch(), skips=WRAPS),
    info(
        "cosine_similarity",
        alike,
        cosine,
        FLOATING,
        errors=lambda make: [
            type(error)(SampleInput(make(2, 3), make(2, 3), 5), error.error_type, error.error_regex)
            for error in dim_out_of_range(5)(make)
        ],
    ),
    info("dist", apart, dist, INEXACT, errors=mismatch()),
    info(
        "pdist",
        rows,
        pdist,
        FULL,
        errors=refusals(
            (lambda make: SampleInput(make(3)), RuntimeError, "pdist only supports 2D tensors"),
            (
                lambda make: SampleInput(make(3, 2), -1.0),
                RuntimeError,
                "pdist only supports non-negative p values",
            ),
        ),
    ),
    info(
        "cdist",
        two_sets,
        cdist,
        FULL,
        tolerances={float32: (1e-3, 1e-3)},
        errors=refusals(
            (
                lambda make: SampleInput(make(2, 3), make(2, 2)),
                RuntimeError,
                "X1 and X2 must have the same number of columns. X1: 3 X2: 2",
            ),
            (
                lambda make: SampleInput(make(2, 3), make(3)),
                RuntimeError,
                "cdist only supports at least 2D tensors, X2 got: 1D",
            ),
            (
                lambda make: SampleInput(make(2, 3), make(2, 3), -1.0),
                RuntimeError,
                "cdist only supports non-negative p values",
            ),
            (
                lambda make: SampleInput(make(2, 3), make(2, 3), 2.0, 7),
                RuntimeError,
                "possible modes: 0, 1, 2, but was: 7",
            ),
        ),
    ),
    info(
        "_euclidean_dist",
        far_apart,
        cdist,
        FLOATING,
        tolerances={float32: (1e-3, 1e-3), float16: (0.1, 0.5), bfloat16: (0.3, 3)},
    ),
    info(
        "renorm",
        long_rows,
        renorm,
        INEXACT,
        errors=refusals(
            (
                lambda make: SampleInput(make(3), 2, 0, 1),
                RuntimeError,
                "renorm: input needs at least 2 dimensions, got 1 dimensions",
            ),
            (
                lambda make: SampleInput(make(2, 3), 0, 0, 1),
                RuntimeError,
                "renorm: non-positive-norm not supported",
            ),
            (
                lambda make: SampleInput(make(2, 3), 2, 0, -1),
                RuntimeError,
                "renorm: expected maxnorm to be >= 0 but got -1",
            ),
        ),
    ),
]
