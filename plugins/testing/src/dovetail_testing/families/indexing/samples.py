"""Samples of indexing, gathering and scattering."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, Skip, TensorMaker
from dovetail_kernel import bool as bool_

from ..makers import BY_VALUES, NO_SHAPE, indices, mask, op_info, refusals, refused

info = partial(op_info, family="indexing")


def chosen(make: TensorMaker) -> Iterator[SampleInput]:
    row, column = indices(make, [2, 0]), indices(make, [[1], [0]])
    yield SampleInput(make(3, 2), [row])
    yield SampleInput(make(3, 2), [None, column])
    yield SampleInput(make(3, 2), [row, indices(make, [1, -1])])
    yield SampleInput(make(3, 2), [row, column])
    yield SampleInput(make(3, 2, 2), [row, None, indices(make, [0, 1])])
    yield SampleInput(make(3, 2), [indices(make, [])])
    by_mask = SampleInput(make(3, 2), [make.values([True, False, True], bool_)])
    yield by_mask.with_metadata(name="mask")
    yield SampleInput(make(0, 2), [indices(make, [])])


def subscript(index: np.ndarray) -> Any:
    return tuple(
        [slice(None) if i is None else i if i.dtype == bool else i.astype(int) for i in index]
    )


def puts(make: TensorMaker) -> Iterator[SampleInput]:
    for values in ((2, 2), (2,), (), (1, 2)):
        yield SampleInput(make(3, 2), [indices(make, [2, 0])], make(values))
    yield SampleInput(make(3, 2), [indices(make, [2, 2])], make(2, 2), True)
    yield SampleInput(make(3, 2), [None, indices(make, [1])], make(()), True)


def put(x: np.ndarray, index: np.ndarray, values: np.ndarray, accumulate: bool = False) -> Any:
    result = x.copy()
    if accumulate:
        np.add.at(result, subscript(index), values)
    else:
        result[subscript(index)] = values
    return result


def rows(make: TensorMaker) -> Iterator[SampleInput]:
    for shape, dim, values in (
        ((3, 2), 0, [2, 0]),
        ((3, 2), -1, [1, 1, 0]),
        ((3,), 0, []),
        ((2, 1, 3), 2, [1]),
    ):
        yield SampleInput(make(shape), dim, indices(make, values))


def added_rows(make: TensorMaker) -> Iterator[SampleInput]:
    for shape, dim, values, source in (
        ((3, 2), 0, [2, 0], (2, 2)),
        ((3, 2), -1, [1, 1, 0], (3, 3)),
        ((3,), 0, [], (0,)),
    ):
        yield SampleInput(make(shape), dim, indices(make, values), make(source))
    yield SampleInput(make(3, 2), 0, indices(make, [1, 1]), make(2, 2), alpha=2)


def with_rows(
    x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, alpha: object = 1
) -> Any:
    result = np.moveaxis(x, dim, 0).copy()
    np.add.at(result, index.astype(int), alpha * np.moveaxis(source, dim, 0))
    return np.moveaxis(result, 0, dim)


def places(make: TensorMaker) -> Iterator[tuple[Any, int, Any]]:
    """Yield tensors with a dimension and indices along it, none of them twice in a row."""
    yield make(3, 2), 0, indices(make, [[2, 0], [0, 1]])
    yield make(3, 2), -1, indices(make, [[1], [0], [1]])
    yield make(2, 3), 1, indices(make, [[2, 0, 1]])
    yield make(3), 0, indices(make, [1])
    yield make(3), 0, indices(make, 1)


def gathers(make: TensorMaker) -> Iterator[SampleInput]:
    for row in places(make):
        yield SampleInput(*row)
    yield SampleInput(make(3, 2), 0, indices(make, [[1, 1], [1, 0]]))


def scatters(source: str) -> Any:
    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for x, dim, index in places(make):
            yield SampleInput(x, dim, index, make(tuple(index.shape)) if source == "tensor" else 1)

    return samples


def cut(x: np.ndarray, dim: int, index: np.ndarray) -> Any:
    """Return the part of a tensor that an index tensor of a smaller shape is about."""
    return x[
        tuple([slice(None) if d == dim % x.ndim else slice(n) for d, n in enumerate(index.shape)])
    ]


def gathered(x: np.ndarray, dim: int, index: np.ndarray) -> Any:
    if not index.ndim:
        return x[index.astype(int)]
    return np.take_along_axis(cut(x, dim, index), index.astype(int), dim)


def scattered(
    x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, add: bool = False
) -> Any:
    result, index = x.copy(), index.astype(int)
    values = np.broadcast_to(source, index.shape)
    for place in np.ndindex(*index.shape):
        where = (*place[: dim % x.ndim], index[place], *place[dim % x.ndim + 1 :])
        result[where] = result[where] + values[place] if add else values[place]
    return result


def masks(make: TensorMaker) -> Iterator[SampleInput]:
    for shape, of_mask in (((2, 3), (2, 3)), ((2, 3), (3,)), ((3,), (2, 3)), ((0, 3), (3,))):
        yield SampleInput(make(shape), mask(make, *of_mask))
    yield SampleInput(make(()), mask(make)).with_metadata(name="0-dim")


def selected(x: np.ndarray, m: object) -> Any:
    x, m = np.broadcast_arrays(x, m != 0)
    return x[m]


def takes(make: TensorMaker) -> Iterator[SampleInput]:
    for values in ([5, 0], [[1, -1]], 2, []):
        yield SampleInput(make(2, 3), indices(make, values))


def classes(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(indices(make, [0, 2, 1]))
    yield SampleInput(indices(make, [[0, 2], [1, 1]]), 4)


out_of_range = (
    lambda make: SampleInput(make(3, 2), 0, indices(make, [3])),
    IndexError,
    "out of range",
)

OP_INFOS = [
    info(
        "index.Tensor",
        chosen,
        lambda x, index: x[subscript(index)],
        errors=refused(
            lambda make: SampleInput(make(3, 2), [indices(make, [3])]),
            IndexError,
            "index 3 is out of bounds for dimension 0 with size 3",
        ),
        skips=(
            Skip("vmap", NO_SHAPE.reason, sample="mask"),
            Skip("meta_gradients", BY_VALUES[0].reason, sample="mask"),
        ),
    ),
    info(
        "index_put",
        puts,
        put,
        errors=refused(
            lambda make: SampleInput(make(3, 2), [indices(make, [0, 1])], make(3)),
            RuntimeError,
            "shape mismatch: value tensor of shape",
        ),
    ),
    info(
        "index_select",
        rows,
        lambda x, dim, index: np.take(x, index.astype(int), dim),
        errors=refusals(out_of_range),
    ),
    info("index_add", added_rows, with_rows),
    info(
        "gather",
        gathers,
        gathered,
        errors=refused(
            lambda make: SampleInput(make(3), 0, indices(make, [3])),
            RuntimeError,
            "index 3 is out of bounds for dimension 0 with size 3",
        ),
    ),
    info("scatter.src", scatters("tensor"), scattered),
    info("scatter.value", scatters("number"), scattered),
    info("scatter_add", scatters("tensor"), partial(scattered, add=True)),
    info(
        "masked_select",
        masks,
        selected,
        skips=(NO_SHAPE, Skip("meta_gradients", BY_VALUES[0].reason)),
    ),
    info(
        "take",
        takes,
        lambda x, index: np.take(x, index.astype(int)),
        errors=refused(
            lambda make: SampleInput(make(2, 3), indices(make, [6])), IndexError, "out of range"
        ),
    ),
    info(
        "one_hot",
        classes,
        lambda x, n=-1: np.eye(x.max() + 1 if n < 0 else n)[x.astype(int)],
        supports_autograd=False,
        skips=(NO_SHAPE, *BY_VALUES),
    ),
]
