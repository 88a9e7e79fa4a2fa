"""Samples of elements written, or combined with others, at places."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, TensorMaker
from dovetail_kernel import bool as bool_

from ..makers import REAL, Samples, indices, mask, op_info, refusals, refused

info = partial(op_info, family="scattering")

SLICES: Any = (
    ((3, 2), 0, [2, 0], (2, 2)),
    ((3, 2), -1, [1, 0], (3, 2)),
    ((2, 1, 3), 2, [1], (2, 1, 1)),
    ((3,), 0, [], (0,)),
    ((), 0, [0], ()),
)
"""Shapes, dimensions, indices of which none comes twice, and shapes of what is put there."""
AGAIN: Any = (((3, 2), 0, [1, 1, 0], (3, 2)), ((2, 3), 1, [2, 2], (2, 2)), ((4,), 0, [3, 3], (2,)))
"""The same with indices that come twice."""
PLACES: Any = (
    ((3, 2), 0, [[2, 0], [0, 1]]),
    ((3, 2), -1, [[1], [0], [1]]),
    ((3, 2), 0, [[1, 1], [1, 0], [1, 1]]),
    ((4,), 0, [3, 3, 0]),
    ((), 0, 0),
)


def fills(make: TensorMaker, value: Callable[[], object]) -> Iterator[SampleInput]:
    for shape, dim, values, _ in SLICES:
        yield SampleInput(make(shape), dim, indices(make, values), value())
    yield SampleInput(make(3, 2), 0, indices(make, [-1, -1]), value())


def filled(x: np.ndarray, dim: int, index: np.ndarray, value: object) -> Any:
    result = np.atleast_1d(x).copy()
    np.moveaxis(result, dim, 0)[index.astype(int)] = value
    return result.reshape(x.shape)


def slices(*rows: Any, **kwargs: Any) -> Samples:
    """Return samples by rows of `SLICES`, with what comes behind."""

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for shape, dim, values, source in rows:
            yield SampleInput(make(shape), dim, indices(make, values), make(source), **kwargs)

    return samples


def copied(x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> Any:
    result, given = np.atleast_1d(x).copy(), np.atleast_1d(source)
    np.moveaxis(result, dim, 0)[index.astype(int)] = np.moveaxis(given, dim, 0)
    return result.reshape(x.shape)


def index_reductions(make: TensorMaker) -> Iterator[SampleInput]:
    for reduce in ("prod", "mean", "amax", "amin"):
        for row in slices(*SLICES, *AGAIN)(make):
            yield SampleInput(*row.arguments, reduce)
        for row in slices(*AGAIN)(make):
            yield SampleInput(*row.arguments, reduce, include_self=False)


def scatter_reductions(*names: str) -> Samples:
    """Return samples of scatter_reduce with each of some reductions."""

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for reduce in names:
            for shape, dim, values in PLACES:
                index = indices(make, values)
                for include_self in (True, False):
                    yield SampleInput(
                        make(shape),
                        dim,
                        index,
                        make(tuple(index.shape)),
                        reduce,
                        include_self=include_self,
                    )

    return samples


def reduced(
    x: np.ndarray,
    dim: int,
    index: np.ndarray,
    src: np.ndarray,
    reduce: str,
    include_self: bool = True,
) -> Any:
    """Return what scatter_reduce gives, element by element."""
    result, index, src = np.atleast_1d(x).copy(), np.atleast_1d(index), np.atleast_1d(src)
    found: dict[Any, list[Any]] = {}
    for place in np.ndindex(*index.shape):
        at = list(place)
        at[dim] = int(index[place])
        own = [result[tuple(at)]] if include_self else []
        found.setdefault(tuple(at), own).append(src[place])
    functions: dict[str, Any] = {"sum": np.sum, "prod": np.prod, "amax": np.max, "amin": np.min}
    for at, values in found.items():
        given = np.array(values, result.dtype)
        if reduce == "mean":
            total = given.sum(dtype=result.dtype)
            result[at] = total // len(given) if result.dtype.kind in "iu" else total / len(given)
        else:
            result[at] = functions[reduce](given)
    return result.reshape(x.shape)


def index_reduced(
    x: np.ndarray,
    dim: int,
    index: np.ndarray,
    source: np.ndarray,
    reduce: str,
    include_self: bool = True,
) -> Any:
    shape = [1] * max(source.ndim, 1)
    shape[dim] = -1
    places = np.broadcast_to(index.reshape(shape), np.atleast_1d(source).shape)
    return reduced(x, dim, places, source, reduce, include_self)


def scatters(source: str) -> Samples:
    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for reduce in ("add", "multiply"):
            for shape, dim, values in PLACES:
                index = indices(make, values)
                src = make(tuple(index.shape)) if source == "tensor" else 2
                yield SampleInput(make(shape), dim, index, src, reduce=reduce)

    return samples


def scattered_with(x: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray, reduce: str) -> Any:
    src = np.broadcast_to(np.asarray(src, x.dtype), index.shape)
    return reduced(x, dim, index, src, {"add": "sum", "multiply": "prod"}[reduce])


def masked(make: TensorMaker) -> Iterator[SampleInput]:
    for shape, of_mask, source in (
        ((2, 3), (2, 3), (6,)),
        ((2, 3), (3,), (2, 4)),
        ((3,), (2, 3), (7,)),
        ((), (), (1,)),
        ((0, 3), (3,), (2,)),
    ):
        yield SampleInput(make(shape), mask(make, *of_mask), make(source))


def masked_written(x: np.ndarray, m: object, source: np.ndarray) -> Any:
    x, m = np.broadcast_arrays(x, m != 0)
    result = x.copy()
    result[m] = source.reshape(-1)[: m.sum()]
    return result


def puts(make: TensorMaker) -> Iterator[SampleInput]:
    for shape, values, source in (
        ((2, 3), [5, 0], (2,)),
        ((2, 3), [[1, -1]], (2, 1)),
        ((2, 3), [], (0,)),
        ((), 0, ()),
        ((2, 1, 3), [4], (1,)),
    ):
        yield SampleInput(make(shape), indices(make, values), make(source))
        yield SampleInput(make(shape), indices(make, values), make(source), True)
    yield SampleInput(make(2, 3), indices(make, [4, 4]), make(2), True)


def put(x: np.ndarray, index: np.ndarray, source: np.ndarray, accumulate: bool = False) -> Any:
    result = x.copy().reshape(-1)
    if accumulate:
        np.add.at(result, index.astype(int).reshape(-1), source.reshape(-1))
    else:
        result[index.astype(int).reshape(-1)] = source.reshape(-1)
    return result.reshape(x.shape)


def takes(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), indices(make, [[2], [0]]), 1)
    yield SampleInput(make(2, 3), indices(make, [[0, 1, -1]]), 0)
    yield SampleInput(make(2, 3), indices(make, [[0], [2]]), -1)
    yield SampleInput(make(2, 3), indices(make, [5, 0, 0]))
    yield SampleInput(make(1, 3), indices(make, [[0, 0], [2, 1]]), 1)


def masked_places(make: TensorMaker) -> Iterator[SampleInput]:
    places = mask(make, 2)
    yield SampleInput(make(3, 2), places, [indices(make, [2, 9])], 0)
    yield SampleInput(make(3, 2), places, [None, indices(make, [1, -9])], 1)
    yield SampleInput(make(3, 2), mask(make, 2), [indices(make, [0, 1]), indices(make, [1, 1])], 0)


def clamped(x: Any, at: Any) -> Any:
    return tuple(
        [
            slice(None) if i is None else np.clip(i.astype(int), -size, size - 1)
            for i, size in zip(at, x.shape, strict=False)
        ]
    )


def masked_picked(x: Any, m: Any, at: Any, fill: Any) -> Any:
    return np.where(m, x[clamped(x, at)], np.asarray(fill, x.dtype))


def masked_sums(make: TensorMaker) -> Iterator[SampleInput]:
    for sample in masked_places(make):
        x, places, at, _ = sample.arguments
        shapes = {1: (2, 2), 2: (3, 2) if at[0] is None else (2,)}
        yield SampleInput(x, places, at, make(shapes[len(at)]))


def masked_added(x: Any, m: Any, at: Any, values: Any) -> Any:
    result = x.copy()
    np.add.at(result, clamped(x, at), np.where(m, values, np.zeros((), x.dtype)))
    return result


def three(make: TensorMaker, *index: int) -> tuple[Any, int, Any]:
    return make(3), 0, indices(make, list(index))


OP_INFOS = [
    info(
        "index_fill.int_Scalar",
        lambda make: fills(make, lambda: 1),
        filled,
        errors=refusals(
            (
                lambda make: SampleInput(*three(make, 3), 1),
                IndexError,
                "index 3 is out of bounds for dimension 0 with size 3",
            ),
            (
                lambda make: SampleInput(make(3), 0, make(1), 1),
                IndexError,
                "Expected dtype int64 for index",
            ),
            (
                lambda make: SampleInput(*three(make, 1), 1j),
                RuntimeError,
                "Converting complex Scalar to non-complex type is not supported",
            ),
        ),
    ),
    info(
        "index_fill.int_Tensor",
        lambda make: fills(make, lambda: make(())),
        filled,
        errors=refused(
            lambda make: SampleInput(*three(make, 1), make(1)),
            RuntimeError,
            "only supports a 0-dimensional value tensor",
        ),
    ),
    info(
        "index_copy",
        slices(*SLICES),
        copied,
        errors=refusals(
            (
                lambda make: SampleInput(*three(make, 3), make(1)),
                IndexError,
                "index 3 is out of bounds for dimension 0 with size 3",
            ),
            (
                lambda make: SampleInput(*three(make, 1), make(2)),
                IndexError,
                r"Number of indices \(1\) should be equal to source.size\(dim\) \(2\)",
            ),
            (
                lambda make: SampleInput(make(3, 2), 0, indices(make, [1]), make(1, 3)),
                RuntimeError,
                "must have same slice shapes",
            ),
        ),
    ),
    info(
        "index_reduce",
        index_reductions,
        index_reduced,
        REAL - {bool_},
        errors=refusals(
            (
                lambda make: SampleInput(*three(make, 1), make(1), "sum"),
                RuntimeError,
                "Expected reduce to be one of prod, mean, amax or amin but got sum",
            ),
            (
                lambda make: SampleInput(make(3, 2), 0, indices(make, [1]), make(1, 3), "prod"),
                RuntimeError,
                "source tensor shape must match self tensor shape",
            ),
        ),
    ),
    info(
        "scatter.reduce",
        scatters("tensor"),
        scattered_with,
        supports_autograd=False,
        errors=refused(
            lambda make: SampleInput(*three(make, 1), make(1), reduce="sum"),
            RuntimeError,
            "reduce argument must be either add or multiply",
        ),
    ),
    info("scatter.value_reduce", scatters("number"), scattered_with, supports_autograd=False),
    info(
        "scatter_reduce.two",
        lambda make: scatter_reductions(
            "sum",
            "prod",
            *(() if make.dtype is bool_ else ("mean",)),
            *(() if make.dtype.is_complex else ("amax", "amin")),
        )(make),
        reduced,
        errors=refusals(
            (
                lambda make: SampleInput(*three(make, 1), make(1), "add"),
                RuntimeError,
                "reduce argument must be either sum, prod, mean, amax or amin, got add",
            ),
            (
                lambda make: SampleInput(*three(make, 3), make(1), "sum"),
                RuntimeError,
                "index 3 is out of bounds for dimension 0 with size 3",
            ),
        ),
    ),
    info(
        "masked_scatter",
        masked,
        masked_written,
        errors=refusals(
            (
                lambda make: SampleInput(make(3), make.values([True] * 3, bool_), make(2)),
                RuntimeError,
                "Number of elements of source < number of ones in mask",
            ),
            (
                lambda make: SampleInput(make(3), make(3), make(3)),
                RuntimeError,
                "only supports boolean masks, but got mask with dtype Float",
            ),
        ),
    ),
    info(
        "put",
        puts,
        put,
        errors=refusals(
            (
                lambda make: SampleInput(make(2, 3), indices(make, [6]), make(1)),
                IndexError,
                "out of range: tried to access index 6 on a tensor of 6 elements",
            ),
            (
                lambda make: SampleInput(make(2, 3), indices(make, [1]), make(2)),
                IndexError,
                "Expected source and index to have the same number of elements",
            ),
        ),
    ),
    info(
        "take_along_dim",
        takes,
        lambda x, at, dim=None: np.take_along_axis(x, at.astype(int), dim),
        errors=refused(
            lambda make: SampleInput(make(2, 3), indices(make, [0]), 0),
            RuntimeError,
            "input and indices should have the same number of dimensions",
        ),
    ),
    info("_unsafe_masked_index", masked_places, masked_picked),
    info("_unsafe_masked_index_put_accumulate", masked_sums, masked_added),
]
