"""Samples of repetitions, reductions of segments, and triangles."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, Skip, TensorMaker
from dovetail_kernel import int32, int64

from ..makers import ALL, FLOATING, NO_SHAPE, indices, op_info, refusals, refused

info = partial(op_info, family="searching")
constant = partial(info, supports_autograd=False)


# -- repetitions -----------------------------------------------------------------------------------


def repetitions(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make.values([1, 0, 2]))
    yield SampleInput(make.values([2, 2]), output_size=4)
    yield SampleInput(make.values([]))


def repeated_slices(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), indices(make, [1, 2]), 0)
    yield SampleInput(make(2, 3), indices(make, [2, 2, 2]), -1, output_size=6)
    yield SampleInput(make(3), indices(make, [2, 0, 1]))
    yield SampleInput(make(2, 3), indices(make, 2), 1)


def repeated_evenly(make: TensorMaker) -> Iterator[SampleInput]:
    for shape, args in (((2, 3), (2,)), ((2, 3), (2, 1)), ((2, 3), (0, 0)), ((), (3,))):
        yield SampleInput(make(shape), *args)
    yield SampleInput(make(2, 3), 2, 1, output_size=6)


def repeat(x: Any, repeats: Any, dim: int | None = None, output_size: object = None) -> Any:
    return np.repeat(x, repeats, dim)


REPETITIONS = [
    constant(
        "repeat_interleave.Tensor",
        repetitions,
        lambda x, output_size=None: np.repeat(np.arange(len(x)), x.astype(np.int64)),
        frozenset({int32, int64}),
        errors=refusals(
            (
                lambda make: SampleInput(indices(make, [-1])),
                RuntimeError,
                "repeats can not be negative",
            ),
            (
                lambda make: SampleInput(indices(make, [[1, 2]])),
                RuntimeError,
                "repeat_interleave only accept 1D vector as repeat",
            ),
        ),
        skips=(NO_SHAPE,),
    ),
    info(
        "repeat_interleave.self_Tensor",
        repeated_slices,
        repeat,
        ALL,
        errors=refused(
            lambda make: SampleInput(make(3), indices(make, [1, 2])),
            RuntimeError,
            "repeats must have the same size as input along dim",
        ),
        skips=(NO_SHAPE, Skip("meta_gradients", "the shape depends on the values of repeats")),
    ),
    info(
        "repeat_interleave.self_int",
        repeated_evenly,
        repeat,
        ALL,
        errors=refused(
            lambda make: SampleInput(make(3), -1), RuntimeError, "Repeats must be non-negative"
        ),
    ),
]


# -- segments --------------------------------------------------------------------------------------


def segments(make: TensorMaker) -> Iterator[SampleInput]:
    for reduction in ("sum", "mean", "max", "min", "prod"):
        lengths = indices(make, [2, 1, 3])
        yield SampleInput(make(6), reduction, lengths=lengths)
        yield SampleInput(make(6, 2), reduction, lengths=lengths, initial=1)
        offsets = indices(make, [[0, 1, 3], [0, 2, 3]])
        yield SampleInput(make(2, 3), reduction, offsets=offsets, axis=1)
    yield SampleInput(make(4), "sum", lengths=indices(make, [2, 0, 2]))
    yield SampleInput(make(4), "sum", lengths=indices(make, [1, 2]), unsafe=True)


def segment(
    data: Any,
    reduce: str,
    lengths: Any = None,
    offsets: Any = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: object = None,
) -> Any:
    """Return the reduction of each segment, one by one."""
    if axis:
        rows = zip(data, offsets, strict=True)
        return np.stack([segment(row, reduce, offsets=each, initial=initial) for row, each in rows])
    if offsets is None:
        offsets = np.concatenate([[0], np.cumsum(lengths)])
    parts = [data[a:b] for a, b in pairwise(offsets)]
    if initial is not None:
        parts = [np.concatenate([np.full_like(part[:1], initial), part]) for part in parts]
    if reduce == "mean":
        return np.stack([part.sum(0) / (len(part) - (initial is not None)) for part in parts])
    return np.stack([getattr(np, reduce)(part, axis=0) for part in parts])


SEGMENTS = [
    info(
        "segment_reduce",
        segments,
        segment,
        FLOATING,
        errors=refusals(
            (
                lambda make: SampleInput(make(6), "sum", lengths=indices(make, [2, 1])),
                RuntimeError,
                r"Expected all rows of lengths along axis to sum to data.size\(lengths.dim\(\)-1\)",
            ),
            (
                lambda make: SampleInput(make(6), "sum"),
                RuntimeError,
                "Either lengths or offsets must be defined",
            ),
            (
                lambda make: SampleInput(make(6), "median", lengths=indices(make, [6])),
                RuntimeError,
                "reduce argument must be either",
            ),
            (
                lambda make: SampleInput(make(6), "sum", lengths=indices(make, [-1, 7])),
                RuntimeError,
                "lengths contains negative value!",
            ),
        ),
        skips=(Skip("layouts", "lengths that are expanded have another sum"),),
    )
]

# -- triangles -------------------------------------------------------------------------------------


def triangles(make: TensorMaker) -> Iterator[SampleInput]:
    options: dict[str, Any] = {"dtype": make.dtype, "device": make.device}
    for args in ((3, 3), (3, 4, 1), (4, 2, -1), (2, 3, -5), (3, 2, 5), (0, 3), (3, 0)):
        yield SampleInput(*args, **options)


def triangle(function: Any) -> Any:
    return lambda row, col, offset=0, **options: np.stack(function(row, offset, col))


TRIANGLES = [
    constant(
        name,
        triangles,
        triangle(function),
        frozenset({int32, int64}),
        errors=refused(
            lambda make: SampleInput(-1, 3), RuntimeError, "row must be non-negative, got -1"
        ),
    )
    for name, function in (("tril_indices", np.tril_indices), ("triu_indices", np.triu_indices))
]

OP_INFOS = [*REPETITIONS, *SEGMENTS, *TRIANGLES]
