"""Samples of distinct elements, places in sorted sequences, and membership."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail_aten.typing import Scalar
from dovetail_dispatcher.testing import SampleInput, Skip, TensorMaker
from dovetail_kernel import bool as bool_

from ..makers import (
    BOOL,
    INTEGRAL,
    NO_SHAPE,
    REAL,
    REAL_NUMBERS,
    Samples,
    indices,
    op_info,
    refusals,
    refused,
)
from . import segment_samples

constant = partial(op_info, family="searching", supports_autograd=False)


# -- distinct elements -----------------------------------------------------------------------------


def repeated(make: TensorMaker, *shape: int) -> Any:
    """Return a tensor with equal elements, some beside each other."""
    size = int(np.prod(shape))
    values = (np.arange(size) * 5 // 3 % 4).reshape(shape)
    return make.values(values % 2 if make.dtype is bool_ else values)


def distinct(*before: Any, dim: bool) -> Samples:
    """Return samples with and without places and counts."""

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for shape in ((6,), (3, 4), (1, 2, 3)):
            where = (0,) if dim else ()
            yield SampleInput(repeated(make, *shape), *where, *before, True, True)
        yield SampleInput(repeated(make, 3, 4), *((1,) if dim else ()), *before, True, False)
        yield SampleInput(repeated(make, 3, 4), *((-1,) if dim else ()), *before)
        if not dim:
            yield SampleInput(repeated(make), *before, True, True)
        yield SampleInput(make(0), *((0,) if dim else ()), *before, True, True)

    return samples


def runs(make: TensorMaker) -> Iterator[SampleInput]:
    yield from distinct(dim=False)(make)
    yield SampleInput(repeated(make, 3, 4), True, True, 1)


NONE = np.zeros(0, np.int64)


def unique(x: np.ndarray, sorted: bool = True, inverse: bool = False, counts: bool = False) -> Any:
    found, places, sizes = np.unique(x, return_inverse=True, return_counts=True)
    return [found, places.reshape(x.shape) if inverse else NONE, sizes if counts else NONE]


def unique_slices(
    x: np.ndarray, dim: int, sorted: bool = True, inverse: bool = False, counts: bool = False
) -> Any:
    found, places, sizes = np.unique(x, return_inverse=True, return_counts=True, axis=dim)
    return [found, places.reshape(-1), sizes]


def consecutive_slices(x: np.ndarray, dim: int, inverse: bool = False, counts: bool = False) -> Any:
    rows = np.moveaxis(x, dim, 0)
    differs = [i == 0 or bool((rows[i] != rows[i - 1]).any()) for i in range(len(rows))]
    groups = np.cumsum(differs, dtype=np.int64) - 1
    return [x.compress(differs, dim), groups, np.bincount(groups) if len(groups) else NONE]


def consecutive(
    x: np.ndarray, inverse: bool = False, counts: bool = False, dim: int | None = None
) -> Any:
    if dim is not None:
        return consecutive_slices(x, dim)
    found, groups, sizes = consecutive_slices(x.reshape(-1), 0)
    return [found, groups.reshape(x.shape) if inverse else NONE, sizes if counts else NONE]


no_slices = refusals(
    (
        lambda make: SampleInput(make(0, 3), 1),
        RuntimeError,
        "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied",
    ),
    (
        lambda make: SampleInput(make(), 0),
        IndexError,
        "Dimension specified as 0 but tensor has no dimensions",
    ),
)
DISTINCT = [
    constant("_unique2", distinct(True, dim=False), unique, REAL, skips=(NO_SHAPE,)),
    constant(
        "unique_dim",
        distinct(True, dim=True),
        unique_slices,
        REAL,
        errors=no_slices,
        skips=(NO_SHAPE,),
    ),
    constant("unique_consecutive", runs, consecutive, REAL, skips=(NO_SHAPE,)),
    constant(
        "unique_dim_consecutive",
        distinct(dim=True),
        consecutive_slices,
        REAL,
        errors=no_slices,
        skips=(NO_SHAPE,),
    ),
]


# -- places ----------------------------------------------------------------------------------------

EDGES = [0, 1, 1, 3]
"""Of bools they are false, true, true, true, as sorted as before."""


def searches(make: TensorMaker) -> Iterator[SampleInput]:
    for shape in ((5,), (2, 3), (), (0,)):
        yield SampleInput(make.values(EDGES), make(shape))
        yield SampleInput(make.values(EDGES), make(shape), right=True)
    rows = make.values([EDGES, [1, 1, 2, 2]])
    for side in ("left", "right"):
        yield SampleInput(rows, make.values([[1, 0, 3], [2, 1, 3]]), side=side, out_int32=True)
    sorter = indices(make, [2, 0, 1])
    given = SampleInput(make.values([1, 3, 0]), make.values([1, 2]), sorter=sorter)
    yield given.with_metadata(name="sorter")


def searched(
    sequence: Any,
    values: Any,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Any:
    """Return NumPy's places, row by row."""
    where: Any = side or ("right" if right else "left")
    if sequence.ndim == 1:
        return np.searchsorted(sequence, values, where, sorter)
    pairs = zip(sequence, values, strict=True)
    return np.stack([np.searchsorted(*pair, where) for pair in pairs])


def numbers(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make.values(EDGES), 1)
    yield SampleInput(make.values(EDGES), 1, right=True, out_int32=True)
    yield SampleInput(make.values(EDGES), 1.5)


def buckets(make: TensorMaker) -> Iterator[SampleInput]:
    for shape in ((5,), (2, 3), ()):
        yield SampleInput(make(shape), make.values(EDGES))
        yield SampleInput(make(shape), make.values(EDGES), right=True, out_int32=True)


def bucket(values: Any, edges: Any, out_int32: bool = False, right: bool = False) -> Any:
    return np.searchsorted(edges, values, "right" if right else "left")


def rows(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make.values([0, 0, 2]), 4)
    yield SampleInput(make.values([0, 1, 1]), 2, out_int32=True)


def compressed(make: TensorMaker) -> Iterator[SampleInput]:
    for options in ({}, {"out_int32": True}, {"transpose": True}):
        yield SampleInput(make.values([0, 2, 2, 3]), make.values([0, 2, 1]), **options)


def coordinates(crow: Any, col: Any, out_int32: bool = False, transpose: bool = False) -> Any:
    row = np.repeat(np.arange(len(crow) - 1), np.diff(crow))
    return np.stack([col, row] if transpose else [row, col])


SIDES = refusals(
    (
        lambda make: SampleInput(make(3), make(2), side="foo"),
        RuntimeError,
        "side can only be 'left' or 'right' but got foo",
    ),
    (
        lambda make: SampleInput(make(3), make(2), right=True, side="left"),
        RuntimeError,
        "side and right can't be set to opposites",
    ),
    (
        lambda make: SampleInput(make(2, 3), make(3, 2)),
        RuntimeError,
        "the first N-1 dimensions of boundaries tensor and input value tensor must match",
    ),
    (
        lambda make: SampleInput(make(3), make(2), sorter=indices(make, [0, 1])),
        RuntimeError,
        "boundary and sorter must have the same size",
    ),
    (
        lambda make: SampleInput(make(3), make(2), sorter=indices(make, [0, 1, 9])),
        RuntimeError,
        "sorter index out of range",
    ),
)
no_row = refused(
    lambda make: SampleInput(make(2, 3), make(2, 3)),
    RuntimeError,
    r"boundaries tensor must be 1 dimension, but got dim\(2\)",
)
UNSORTED = (Skip("vmap", "the rows of a batch are not sorted"),)
PLACES = [
    constant(
        "_convert_indices_from_coo_to_csr",
        rows,
        lambda row, size, out_int32=False: np.searchsorted(row, np.arange(size + 1)),
        INTEGRAL - BOOL,
        skips=UNSORTED,
    ),
    constant(
        "_convert_indices_from_csr_to_coo", compressed, coordinates, INTEGRAL - BOOL, skips=UNSORTED
    ),
    constant(
        "searchsorted.Tensor",
        searches,
        searched,
        REAL_NUMBERS,
        errors=SIDES,
        skips=(Skip("vmap", "a batch of orders sorts nothing", sample="sorter"),),
    ),
    constant("searchsorted.Scalar", numbers, searched, REAL),
    constant("bucketize.Tensor", buckets, bucket, REAL_NUMBERS, errors=no_row),
    constant(
        "bucketize.Scalar",
        lambda make: [SampleInput(1, make.values(EDGES)), SampleInput(2.5, make.values(EDGES))],
        bucket,
        REAL,
    ),
]


# -- membership ------------------------------------------------------------------------------------


def members(make: TensorMaker) -> Iterator[SampleInput]:
    for shape in ((5,), (2, 3), (), (0, 3)):
        yield SampleInput(repeated(make, *shape), make.values([0, 2, 2]))
        yield SampleInput(repeated(make, *shape), make.values([[1], [3]]), invert=True)


def is_in(
    x: np.ndarray | Scalar,
    tests: np.ndarray | Scalar,
    assume_unique: bool = False,
    invert: bool = False,
) -> Any:
    return np.isin(x, tests, invert=invert)


MEMBERS = [
    constant("isin.Tensor_Tensor", members, is_in, REAL_NUMBERS),
    constant(
        "isin.Tensor_Scalar",
        lambda make: [
            SampleInput(repeated(make, 2, 3), 1),
            SampleInput(repeated(make, 4), 2.5, invert=True),
        ],
        is_in,
        REAL_NUMBERS,
    ),
    constant(
        "isin.Scalar_Tensor",
        lambda make: [
            SampleInput(1, repeated(make, 2, 3)),
            SampleInput(7, repeated(make, 4), invert=True),
        ],
        is_in,
        REAL_NUMBERS,
    ),
]

OP_INFOS = [*DISTINCT, *PLACES, *MEMBERS, *segment_samples.OP_INFOS]
