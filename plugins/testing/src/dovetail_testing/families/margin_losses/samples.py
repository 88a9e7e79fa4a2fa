"""Samples of losses with margins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, Skip, TensorMaker
from dovetail_kernel import float32, float64, uint8

from ..losses.samples import MEAN, NONE, REDUCTIONS, reduced
from ..makers import FLOATING, NUMBERS, REAL, REAL_NUMBERS, indices, op_info, refusals, refused

info = partial(op_info, family="margin_losses")

FULL = frozenset({float32, float64})


def signs(make: TensorMaker, *shape: int) -> Any:
    """Return a tensor of 1 and -1."""
    count = int(np.prod(shape))
    values = np.array([(-1.0) ** i for i in range(count)]).reshape(shape).tolist()
    return make.values(values, make.dtype)


def signed(*more: Any) -> Callable[[TensorMaker], Iterator[SampleInput]]:
    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for reduction in REDUCTIONS:
            yield SampleInput(make(2, 3), signs(make, 2, 3), *more, reduction)
        yield SampleInput(make(2, 3), signs(make, 3), *more)
        yield SampleInput(make(()), signs(make), *more)

    return samples


def hinge(x: np.ndarray, y: np.ndarray, margin: float = 1.0, reduction: int = MEAN) -> Any:
    apart = np.where(y != 1, np.maximum(margin - x, 0), 0)
    return reduced(apart + np.where(y != -1, x, 0), reduction)


def soft_margin(x: np.ndarray, y: np.ndarray, reduction: int = MEAN) -> Any:
    return reduced(np.log1p(np.exp(-y * x)), reduction)


def ranked(make: TensorMaker) -> Iterator[SampleInput]:
    for reduction in REDUCTIONS:
        yield SampleInput(make(2, 3), make(2, 3), signs(make, 2, 3), 0.3, reduction)
    yield SampleInput(make(3), make(3), signs(make, 3))


def ranking(
    x: np.ndarray, y: np.ndarray, sign: object, margin: float = 0.0, reduction: int = MEAN
) -> Any:
    return reduced(np.maximum(margin - sign * (x - y), 0), reduction)


def embedded(make: TensorMaker) -> Iterator[SampleInput]:
    for reduction in REDUCTIONS:
        yield SampleInput(make(4, 3), make(4, 3), signs(make, 4), 0.1, reduction)
    yield SampleInput(make(3), make(3), signs(make))


def cosine(
    x: np.ndarray, y: np.ndarray, sign: object, margin: float = 0.0, reduction: int = MEAN
) -> Any:
    sizes = np.sqrt((x * x).sum(-1) * (y * y).sum(-1))
    found = (x * y).sum(-1) / sizes
    return reduced(np.where(sign == 1, 1 - found, np.maximum(found - margin, 0)), reduction)


def triplets(make: TensorMaker) -> Iterator[SampleInput]:
    for reduction in REDUCTIONS:
        yield SampleInput(
            *[make(4, 3) for _ in range(3)], 1.0, 2.0, 1e-6, reduction == MEAN, reduction
        )
    yield SampleInput(make(3), make(3), make(3), 0.5, 1.0)


def triplet(
    anchor: object,
    positive: object,
    negative: object,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = MEAN,
) -> Any:
    def distance(x: Any, y: Any) -> Any:
        return (np.abs(x - y + eps) ** p).sum(-1) ** (1 / p)

    far = distance(anchor, negative)
    far = np.minimum(far, distance(positive, negative)) if swap else far
    return reduced(np.maximum(distance(anchor, positive) + margin - far, 0), reduction)


def scored(make: TensorMaker) -> Iterator[SampleInput]:
    for reduction in REDUCTIONS:
        yield SampleInput(make(2, 3), indices(make, [2, 0]), 1, 1, None, reduction)
    weight = make(3, low=0.5, high=2, requires_grad=False)
    yield SampleInput(make(2, 3), indices(make, [1, 0]), 2, 0.5, weight)
    yield SampleInput(make(3), indices(make, 1), 1, 1, None, NONE)


def multi_margin(
    x: np.ndarray,
    y: np.ndarray,
    p: int = 1,
    margin: float = 1,
    weight: np.ndarray | None = None,
    reduction: int = MEAN,
) -> Any:
    rows, classes = np.atleast_2d(x), np.atleast_1d(y).astype(int)
    losses = []
    for row, own in zip(rows, classes, strict=True):
        short = np.maximum(margin - row[own] + row, 0) ** p
        factor = 1 if weight is None else weight[own]
        losses.append((short.sum() - short[own]) * factor / len(row))
    return reduced(np.array(losses).reshape(x.shape[:-1]), reduction)


def labelled(make: TensorMaker) -> Iterator[SampleInput]:
    labels = [[2, 0, -1, 1], [-1, 1, 1, 0], [3, -1, -1, -1]]
    for reduction in REDUCTIONS:
        yield SampleInput(make(3, 4), indices(make, labels), reduction)
    yield SampleInput(make(4), indices(make, labels[0]))


def multilabel_margin(x: np.ndarray, y: np.ndarray, reduction: int = MEAN) -> Any:
    losses = []
    for row, labels in zip(np.atleast_2d(x), np.atleast_2d(y).astype(int), strict=True):
        own = [*labels[: [*labels, -1].index(-1)]]
        others = [i for i in range(len(row)) if i not in own]
        short = [max(0, 1 - row[i] + row[j]) for i in own for j in others]
        losses.append(sum(short) / len(row))
    return reduced(np.array(losses).reshape(x.shape[:-1]), reduction)


no_class = (lambda make: SampleInput(make(2, 3), indices(make, [0, 3])), RuntimeError, "out of")
too_few = (
    lambda make: SampleInput(make(2, 3), indices(make, [0])),
    RuntimeError,
    r"Expected target size \[2\], but got \[1\]",
)
cubic = (
    lambda make: SampleInput(make(2, 3), indices(make, [0, 1]), 3),
    RuntimeError,
    "only p == 1 and p == 2 supported",
)
few_labels = (
    lambda make: SampleInput(make(2, 3), indices(make, [0, 1, -1])),
    RuntimeError,
    r"inconsistent target size: \[3\] for input of size: \[2, 3\]",
)
no_label = (
    lambda make: SampleInput(make(2, 3), indices(make, [[0, 3, -1], [0, 1, 2]])),
    RuntimeError,
    "out of",
)

WRAPS = (Skip("reference", "differences of bytes wrap around", dtypes=frozenset({uint8})),)

OP_INFOS = [
    info("hinge_embedding_loss", signed(1.0), hinge, FLOATING),
    info("soft_margin_loss", signed(), soft_margin, FLOATING),
    info("margin_ranking_loss", ranked, ranking, REAL_NUMBERS, skips=WRAPS),
    info(
        "cosine_embedding_loss",
        embedded,
        cosine,
        REAL,
        errors=refused(
            lambda make: SampleInput(make(2, 3), make(2, 3), make(2, 3)),
            RuntimeError,
            "0D or 1D target tensor expected, multi-target not supported",
        ),
    ),
    info(
        "triplet_margin_loss",
        triplets,
        triplet,
        NUMBERS,
        skips=WRAPS,
        errors=refused(
            lambda make: SampleInput(make(2, 3), make(2, 3), make(3)),
            RuntimeError,
            "expected to have the same number of dimensions, but got: anchor 2D, positive 2D",
        ),
    ),
    info(
        "multi_margin_loss", scored, multi_margin, FULL, errors=refusals(no_class, too_few, cubic)
    ),
    info(
        "multilabel_margin_loss",
        labelled,
        multilabel_margin,
        FULL,
        errors=refusals(no_label, few_labels),
    ),
]
