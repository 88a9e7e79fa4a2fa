"""Samples of bags of rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, Skip, TensorMaker

from ..makers import FLOATING, INEXACT, indices, op_info, refusals

info = partial(op_info, family="embeddings")

SUM, MEAN, MAX = range(3)


def bags(make: TensorMaker) -> Iterator[SampleInput]:
    picked, starts = indices(make, [0, 1, 2, 3]), indices(make, [0, 2, 2])
    ends = indices(make, [0, 3, 4])
    for mode in (SUM, MEAN, MAX):
        yield SampleInput(make(5, 3), picked, starts, False, mode)
        yield SampleInput(make(5, 3), picked, ends, False, mode, False, None, True)
        yield SampleInput(make(5, 3), picked, starts, False, mode, False, None, False, 1)
    counted = SampleInput(make(5, 3), indices(make, [1, 1, 0]), indices(make, [0, 1]), True)
    yield counted.with_metadata(name="frequency")
    yield SampleInput(make(5, 3), picked, starts, False, SUM, False, make(4))
    yield SampleInput(make(5, 3), indices(make, []), indices(make, [0]), False, MEAN)


def bagged(
    weight: np.ndarray,
    picked: np.ndarray,
    starts: np.ndarray,
    scale: bool = False,
    mode: int = SUM,
    sparse: bool = False,
    factors: np.ndarray | None = None,
    last: bool = False,
    padding: int = -1,
) -> Any:
    """Return the bags of rows, the bag of each index, how many rows each has, and where the
    greatest elements come from.
    """
    ends = [int(each) for each in starts[1:]] + ([] if last else [len(picked)])
    first = [int(each) for each in starts[: len(ends)]]
    of_index = np.zeros(len(picked), int)
    made = np.zeros((len(ends), weight.shape[1]), weight.dtype)
    sizes = np.zeros(len(ends), int)
    places = np.zeros(made.shape, int)
    for number, (start, end) in enumerate(zip(first, ends, strict=True)):
        of_index[start:end] = number
        own = [i for i in range(start, end) if picked[i] != padding]
        sizes[number] = len(own)
        rows = weight[picked[own].astype(int)]
        if factors is not None:
            rows = rows * factors[own, None]
        if not own:
            continue
        if mode == MAX:
            made[number] = rows.max(0)
            places[number] = picked[own][rows.argmax(0)]
        else:
            made[number] = rows.sum(0, dtype=weight.dtype) / (len(own) if mode == MEAN else 1)
    return made, of_index, sizes, places if mode == MAX else sizes


def bags_without_padding(make: TensorMaker) -> Iterator[SampleInput]:
    picked, starts = indices(make, [0, 1, 2, 3]), indices(make, [0, 2, 2])
    ends = indices(make, [0, 3, 4])
    for mode in (SUM, MEAN, MAX):
        yield SampleInput(make(5, 3), picked, starts, False, mode)
        yield SampleInput(make(5, 3), picked, ends, False, mode, False, None, True)
    yield SampleInput(make(5, 3), picked, starts, False, SUM, False, make(4))


def bags_with_padding(make: TensorMaker) -> Iterator[SampleInput]:
    picked, starts = indices(make, [0, 1, 4, 3]), indices(make, [0, 2, 2])
    for mode in (SUM, MEAN, MAX):
        for padding in (1, -1, None):
            yield SampleInput(make(5, 3), picked, starts, False, mode, False, None, False, padding)


def bagged_with_padding(weight: np.ndarray, *args: Any) -> Any:
    padding = -1 if args[-1] is None else args[-1] % len(weight)
    return bagged(weight, *[*args[:-1], padding])


def renormed(weight: np.ndarray, picked: Any, max_norm: float, norm_type: float) -> Any:
    result = weight.copy()
    for row in set(picked.astype(int).reshape(-1).tolist()):
        norm = np.linalg.norm(np.abs(weight[row]).astype(np.float64), norm_type)
        if norm > max_norm:
            result[row] = weight[row] * (max_norm / (norm + 1e-7))
    return result


COUNTED = "gradients that are divided by how often a row is picked are none of the result"


def embeddings(make: TensorMaker) -> Iterator[SampleInput]:
    for values in ([0, 2], [[0, 1], [1, 3]], 2, []):
        yield SampleInput(make(4, 3), indices(make, values))
    if not make.requires_grad:  # the row that stands for padding has no gradient
        yield SampleInput(make(4, 3), indices(make, [1, 2]), 1)


def embedding_gradients(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), indices(make, [0, 2]), 4, -1, False)
    yield SampleInput(make(2, 2, 3), indices(make, [[0, 1], [1, 3]]), 4, 1, False)


def gathered(grad: np.ndarray, index: np.ndarray, count: int, padding: int, scale: bool) -> Any:
    result = np.zeros((count, grad.shape[-1]), grad.dtype)
    rows = grad.reshape(-1, grad.shape[-1])
    for row, place in zip(rows, index.astype(int).reshape(-1), strict=True):
        if place != padding:
            result[place] += row
    return result


OP_INFOS = [
    info("embedding", embeddings, lambda w, i, *args: w[i.astype(int)]),
    info("embedding_dense_backward", embedding_gradients, gathered),
    info(
        "_embedding_bag",
        bags,
        bagged,
        FLOATING,
        errors=refusals(
            (
                lambda make: SampleInput(make(4, 3), indices(make, [1, 2]), indices(make, [1])),
                RuntimeError,
                r"offsets\[0\] has to be 0",
            ),
            (
                lambda make: SampleInput(make(4, 3), indices(make, [1]), indices(make, [0, 9])),
                RuntimeError,
                r"offsets\[-1\] can not be greater than input's length 1",
            ),
            (
                lambda make: SampleInput(make(4, 3), make(1), indices(make, [0])),
                RuntimeError,
                "to have one of the following scalar types: Long, Int; but got Float",
            ),
        ),
        skips=(
            *[Skip(check, COUNTED, sample="frequency") for check in ("gradients", "forward_ad")],
            Skip("vmap", "the offsets of the batch that it makes do not begin with 0"),
        ),
    ),
    info(
        "embedding_bag",
        bags_without_padding,
        bagged,
        FLOATING,
        skips=(Skip("vmap", "the offsets of the batch that it makes do not begin with 0"),),
    ),
    info(
        "embedding_bag.padding_idx",
        bags_with_padding,
        bagged_with_padding,
        FLOATING,
        errors=refusals(
            (
                lambda make: SampleInput(
                    *(make(4, 3), indices(make, [1, 2]), indices(make, [0])),
                    *(False, SUM, False, None, False, 4),
                ),
                RuntimeError,
                "padding_idx must be within the number of embeddings",
            )
        ),
        skips=(Skip("vmap", "the offsets of the batch that it makes do not begin with 0"),),
    ),
    info(
        "embedding_renorm_",
        lambda make: [
            SampleInput(make(4, 3), indices(make, [0, 2, 0]), 0.5, 2.0),
            SampleInput(make(4, 3), indices(make, [[1], [3]]), 1.0, 1.0),
        ],
        renormed,
        INEXACT,
        supports_autograd=False,
        skips=(Skip("constants", "it writes to what requires grad, and has no derivative"),),
        errors=refusals(
            (
                lambda make: SampleInput(make(4), indices(make, [0]), 1.0, 2.0),
                RuntimeError,
                "Expected 2-dimensional tensor, but got 1-dimensional",
            )
        ),
    ),
]
