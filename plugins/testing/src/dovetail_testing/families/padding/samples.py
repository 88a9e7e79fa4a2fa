"""Samples of borders around tensors, and of diagonals that are filled."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail_aten.kernel_support import bordered_shape
from dovetail_aten.typing import Scalar
from dovetail_dispatcher.testing import OpInfo, SampleInput, TensorMaker

from ..makers import ALL, NUMBERS, Samples, op_info, refusals

info = partial(op_info, family="padding")

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


BORDERED: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((2, 4), (2, 1)),
    ((2, 3, 4), (1, 2, 0, 2)),
    ((1, 2, 3, 4), (0, 1, 1, 0)),
    ((3, 4), (-1, 2)),
    ((3, 4), (2, -1)),
    ((2, 3, 4), (-1, -1, 1, -1)),
    ((1, 2, 3, 2), (1, 1, 2, 0, 1, 1)),
    ((0, 3), (1, 2)),
)
"""Shapes, and elements before and after for dimensions from the last."""


def borders_of_own(make: TensorMaker) -> Iterator[SampleInput]:
    for shape, pad in BORDERED:
        for mode in _SOURCES:
            yield SampleInput(make(*shape), pad, mode)


def gradients_of_borders(make: TensorMaker) -> Iterator[SampleInput]:
    for shape, pad in BORDERED:
        for mode in _SOURCES:
            yield SampleInput(make(*bordered_shape(shape, pad)), pad, mode, shape)


def indices_of_border(shape: Any, pad: Any, mode: str) -> Any:
    """Return where the elements of an array with its border come from, in one line."""
    places = np.arange(math.prod(shape)).reshape(shape)
    for place in range(len(pad) // 2):
        before, after = pad[2 * place], pad[2 * place + 1]
        axis = places.ndim - 1 - place
        size = places.shape[axis]
        line = np.arange(-before, size + after)
        kept = size + min(before, 0) + min(after, 0)
        places = places.take(_SOURCES[mode](line, size, max(-before, 0), kept), axis)
    return places


_SOURCES: dict[str, Callable[..., Any]] = {
    "reflect": lambda line, size, first, kept: size - 1 - abs(size - 1 - abs(line)),
    "replicate": lambda line, size, first, kept: np.clip(line, 0, size - 1),
    "circular": lambda line, size, first, kept: (line - first) % kept + first,
}


def with_border(x: np.ndarray, pad: object, mode: str) -> Any:
    return x.reshape(-1)[indices_of_border(x.shape, pad, mode)]


def without_border(grad: Any, pad: object, mode: str, shape: Any) -> Any:
    made = np.zeros(math.prod(shape), grad.dtype)
    np.add.at(made, indices_of_border(shape, pad, mode), grad)
    return made.reshape(shape)


def diagonals(make: TensorMaker) -> Iterator[SampleInput]:
    for shape in ((3, 3), (2, 4), (7, 3), (4, 3), (3, 3, 3), (0, 0)):
        yield SampleInput(make(shape), 2)
        yield SampleInput(make(shape), 1, True)


def filled(x: np.ndarray, value: Scalar, wrap: bool = False) -> Any:
    result = x.copy()
    if x.size:
        np.fill_diagonal(result, value, wrap)
    return result


OP_INFOS = [
    *[border("reflection", dims, "reflect") for dims in (1, 2, 3)],
    *[border("replication", dims, "edge") for dims in (1, 2, 3)],
    info(
        "_bordered",
        borders_of_own,
        with_border,
        ALL,
        errors=refusals(
            (
                lambda make: SampleInput(make(2, 3), (3, 0), "reflect"),
                RuntimeError,
                "Padding size should be less than the corresponding input dimension",
            ),
            (
                lambda make: SampleInput(make(2, 3), (-2, -1), "replicate"),
                RuntimeError,
                "leaves 0 elements of dimension 1",
            ),
        ),
    ),
    info(
        "_bordered_backward",
        gradients_of_borders,
        without_border,
        NUMBERS,
        errors=refusals(
            (
                lambda make: SampleInput(make(2, 3), (1, 0), "reflect", (2, 3)),
                RuntimeError,
                "does not fit an input of size",
            )
        ),
    ),
    info(
        "fill_diagonal_",
        diagonals,
        filled,
        ALL,
        errors=refusals(
            (lambda make: SampleInput(make(3), 1), RuntimeError, "dimensions must larger than 1"),
            (
                lambda make: SampleInput(make(2, 2, 3), 1),
                RuntimeError,
                "all dimensions of input must be of equal length",
            ),
        ),
    ),
]
