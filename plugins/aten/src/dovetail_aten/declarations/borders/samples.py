"""Samples of borders around tensors, and of diagonals that are filled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import OpInfo, SampleInput, TensorMaker

from ..samples import ALL, NUMBERS, Samples, op_info, refusals

info = partial(op_info, family="borders")

PADDINGS: dict[int, list[Any]] = {
    1: [(1, 2), (0, 0)],
    2: [(1, 2, 0, 1), (2, 0, 1, 1)],
    3: [(1, 1, 0, 1, 1, 0)],
}


def bordered(dims: int) -> Samples:
    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for padding in PADDINGS[dims]:
            yield SampleInput(make(2, *(3, 4, 3)[:dims]), padding)
            yield SampleInput(make(1, 2, *(3, 4, 3)[:dims]), padding)

    return samples


def reference(mode: str) -> Callable[..., Any]:
    def padded(x: Any, padding: Any) -> Any:
        pairs = [tuple(padding[i : i + 2]) for i in range(0, len(padding), 2)]
        pad: Callable[..., Any] = np.pad
        return pad(x, [(0, 0)] * (x.ndim - len(pairs)) + pairs[::-1], mode=mode)

    return padded


def border(name: str, dims: int, mode: str) -> OpInfo:
    shape = (2, *(3, 4, 3)[:dims])
    return info(
        f"{name}_pad{dims}d",
        bordered(dims),
        reference(mode),
        NUMBERS,
        errors=refusals(
            (
                lambda make: SampleInput(make(3), (1, 1) * dims),
                RuntimeError,
                f"Expected {dims + 1}D or {dims + 2}D",
            ),
            (
                lambda make: SampleInput(make(shape), (1,) * (2 * dims + 1)),
                RuntimeError,
                "padding size is expected to be",
            ),
        ),
    )


def diagonals(make: TensorMaker) -> Iterator[SampleInput]:
    for shape in ((3, 3), (2, 4), (7, 3), (4, 3), (3, 3, 3), (0, 0)):
        yield SampleInput(make(shape), 2)
        yield SampleInput(make(shape), 1, True)


def filled(x: Any, value: Any, wrap: bool = False) -> Any:
    result = x.copy()
    if x.size:
        np.fill_diagonal(result, value, wrap)
    return result


OP_INFOS = [
    *[border("reflection", dims, "reflect") for dims in (1, 2, 3)],
    *[border("replication", dims, "edge") for dims in (1, 2, 3)],
    info(
        "fill_diagonal_",
        diagonals,
        filled,
        ALL,
        errors=refusals(
            (
                lambda make: SampleInput(make(3), 1),
                RuntimeError,
                "dimensions must larger than 1",
            ),
            (
                lambda make: SampleInput(make(2, 2, 3), 1),
                RuntimeError,
                "all dimensions of input must be of equal length",
            ),
        ),
    ),
]
