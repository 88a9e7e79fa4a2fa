"""Samples of pieces of tensors: splits, windows, parts written into a copy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, Skip, TensorMaker

from ..makers import BY_VALUES, Errors, Samples, indices, op_info, refusals, refused, rows
from ..views.copies import copies
from ..views.number_samples import VALUES
from ..views.references import narrowed, sliced, split

info = partial(op_info, family="split_and_scatter")

OFFSET = "an offset is that of the first sample, and not of every slice, as in PyTorch"


def bad(shape: tuple[int, ...], *args: Any, text: str, error: Any = RuntimeError) -> Errors:
    """Return one refused call with a tensor of a shape."""
    return refused(lambda make: SampleInput(make(shape), *args), error, text)


def by_tensors(make: TensorMaker) -> Iterator[SampleInput]:
    # Where the pieces begin is read on the cpu, wherever the tensor is.
    yield SampleInput(make(5, 3), indices(make, 2).cpu())
    yield SampleInput(make(5, 3), indices(make, [1, 3]).cpu())
    yield SampleInput(make(2, 4), indices(make, 3).cpu(), 1)


def windows(x: np.ndarray, dim: int, size: int, step: int) -> Any:
    if not x.ndim:
        return x.reshape(1)[:size]
    dim %= x.ndim
    return np.moveaxis(
        np.moveaxis(np.lib.stride_tricks.sliding_window_view(x, size, dim), dim, 0)[::step], 0, dim
    )


def summed_windows(grad: Any, sizes: Any, dim: int, size: int, step: int) -> Any:
    result = np.zeros(sizes, grad.dtype)
    if not sizes:
        return result + grad.sum(dtype=grad.dtype)
    rows, grads = np.moveaxis(result, dim, 0), np.moveaxis(grad, dim, 0)
    for number, window in enumerate(grads):
        rows[number * step : number * step + size] += np.moveaxis(window, -1, 0)
    return result


def parts_of(*each: tuple[Any, ...]) -> Samples:
    """Return samples by rows: a shape, the shape of a part, and the arguments behind them."""
    return lambda make: [SampleInput(make(a), make(b), *args) for a, b, *args in each]


def written(part: Any) -> Any:
    """Return the reference of what writes into the view that `part` gives."""

    def reference(x: np.ndarray, src: Any, *args: Any) -> Any:
        result = x.copy()
        part(result, *args)[...] = src
        return result

    return reference


def diagonal(x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    view = np.diagonal(x, offset, dim1, dim2)
    view.flags.writeable = True
    return view


def strided(x: np.ndarray, size: Sequence[int], stride: Sequence[int], offset: int = 0) -> Any:
    steps = tuple([step * x.itemsize for step in stride])
    return np.lib.stride_tricks.as_strided(x.reshape(-1)[offset:], size, steps)


WINDOWS = (((5, 2), 0, 2, 1), ((5, 2), 0, 3, 2), ((2, 4), -1, 4, 3), ((), 0, 1, 1), ((3,), 0, 0, 1))
NOT_DIVISIBLE = "is not divisible by the split_size 2"
UNFIT = "expected src to have a size equal to the slice of self"

SPLITS = [
    info(
        "tensor_split.sections",
        rows(((5, 3), 2), ((3, 4), 3, 1), ((2,), 4), ((0, 2), 2), ((2, 5), 2, -1)),
        np.array_split,
        errors=refusals(
            (
                lambda make: SampleInput(make(2), 0),
                RuntimeError,
                "number of sections must be larger than 0, got 0",
            ),
            (
                lambda make: SampleInput(make(()), 1),
                RuntimeError,
                "expected at least a 1-dimensional tensor",
            ),
        ),
    ),
    info(
        "tensor_split.indices",
        rows(((5, 3), (1, 3)), ((3, 4), (2,), 1), ((5,), (3, 1, 9)), ((2, 3), ()), ((5,), (-2,))),
        lambda x, at, dim=0: [
            x[(slice(None),) * (dim % x.ndim) + (slice(a, b),)]
            for a, b in zip((0, *at), (*at, x.shape[dim]), strict=True)
        ],
        errors=bad((), (1,), text="expected at least a 1-dimensional tensor"),
    ),
    info(
        "tensor_split.tensor_indices_or_sections",
        by_tensors,
        lambda x, at, dim=0: np.array_split(x, at.astype(int), dim),
        errors=refusals(
            (
                lambda make: SampleInput(make(2), make(2).cpu()),
                RuntimeError,
                "to have dtype of long, but got Float",
            ),
            (
                lambda make: SampleInput(make(2), indices(make, [[1]]).cpu()),
                RuntimeError,
                "zero-dimensional or one-dimensional tensor, but got a tensor with 2 dims",
            ),
        ),
        skips=(*VALUES, *BY_VALUES),
    ),
    info(
        "hsplit.int",
        rows(((2, 4), 2), ((6,), 3), ((2, 4, 1), 4)),
        np.hsplit,
        errors=bad((3, 3), 2, text=NOT_DIVISIBLE),
    ),
    info(
        "hsplit.array",
        rows(((2, 4), (1, 3)), ((6,), (2,))),
        np.hsplit,
        errors=bad((), (1,), text="torch.hsplit requires a tensor with at least 1 dimension"),
    ),
    info(
        "vsplit.int",
        rows(((4, 2), 2), ((3, 1, 2), 3)),
        np.vsplit,
        errors=bad((3, 3), 2, text=NOT_DIVISIBLE),
    ),
    info(
        "vsplit.array",
        rows(((4, 2), (1, 3))),
        np.vsplit,
        errors=bad((3,), (1,), text="torch.vsplit requires a tensor with at least 2 dimensions"),
    ),
    info(
        "dsplit.int",
        rows(((2, 1, 4), 2), ((1, 2, 3), 3)),
        np.dsplit,
        errors=bad((3, 3, 3), 2, text=NOT_DIVISIBLE),
    ),
    info(
        "dsplit.array",
        rows(((2, 1, 4), (1, 3))),
        np.dsplit,
        errors=bad((3, 3), (1,), text="torch.dsplit requires a tensor with at least 3 dimensions"),
    ),
    info(
        "unsafe_split.Tensor",
        rows(((4, 3), 2), ((3, 4), 2, 1), ((5,), 2)),
        split,
        errors=bad((2, 3), -1, text="split expects split_size be non-negative"),
    ),
    info(
        "unsafe_split_with_sizes",
        rows(((4, 3), (1, 3)), ((3, 4), (1, 0, 3), 1)),
        split,
        errors=bad((2, 3), (1, 2), text="expects split_sizes to sum exactly to 2"),
    ),
    info(
        "unsafe_chunk",
        rows(((4, 3), 2), ((5,), 3), ((3, 4), 3, 1), ((0, 3), 2)),
        errors=bad((2, 3), 0, text="chunk expects `chunks` to be greater than 0"),
    ),
    info(
        "narrow_copy",
        rows(((4, 3), 0, 1, 2), ((4, 3), -1, 0, 3), ((4, 3), 0, -2, 1), ((4, 3), 1, 3, 0)),
        narrowed,
        errors=bad((2, 3), 1, 2, 3, text=r"start \(2\) \+ length \(3\) exceeds dimension size"),
    ),
]

WINDOWED = [
    info(
        "unfold",
        rows(*WINDOWS),
        windows,
        errors=refusals(
            (
                lambda make: SampleInput(make(2, 3), 1, 4, 1),
                RuntimeError,
                "maximum size for tensor at dimension 1 is 3 but size is 4",
            ),
            (
                lambda make: SampleInput(make(2, 3), 1, 2, 0),
                RuntimeError,
                "step is 0 but must be > 0",
            ),
        ),
    ),
    info(
        "unfold_backward",
        rows(((4, 2, 2), (5, 2), 0, 2, 1), ((2, 2, 3), (5, 2), 0, 3, 2), ((1,), (), 0, 1, 1)),
        summed_windows,
    ),
]

WRITTEN = [
    info(
        "select_scatter",
        parts_of(((2, 3), (3,), 0, 1), ((2, 3), (2,), 1, -1), ((3,), (), 0, 0)),
        written(lambda x, dim, index: np.moveaxis(x, dim, 0)[index, ...]),
        errors=refused(lambda make: SampleInput(make(2, 3), make(2), 0, 0), RuntimeError, UNFIT),
    ),
    info(
        "slice_scatter",
        parts_of(
            ((4, 3), (2, 3), 0, 1, 3),
            ((4, 3), (4, 2), 1, None, None, 2),
            ((4, 3), (4, 3)),
            ((5,), (2,), 0, -2),
            ((4, 3), (0, 3), 0, 3, 1),
        ),
        written(sliced),
        errors=refused(lambda make: SampleInput(make(4, 3), make(4, 3), 0, 1), RuntimeError, UNFIT),
    ),
    info(
        "diagonal_scatter",
        parts_of(
            ((3, 3), (3,)),
            ((2, 3), (2,), 1),
            ((3, 2), (2,), -1),
            ((2, 3, 4), (2, 3), 0, 1, 2),
            ((2, 3, 4), (3, 1), 1, -1, 0),
        ),
        written(diagonal),
        errors=refused(lambda make: SampleInput(make(2, 3), make(3)), RuntimeError, UNFIT),
    ),
    info(
        "as_strided_scatter",
        parts_of(
            ((2, 3), (2, 2), (2, 2), (1, 2)), ((2, 3), (2,), (2,), (3,), 1), ((6,), (), (), ())
        ),
        written(strided),
        errors=refused(
            lambda make: SampleInput(make(2, 3), make(3), (2,), (1,)), RuntimeError, UNFIT
        ),
        skips=(
            Skip("layouts", "it says how memory is read, whatever the tensor is"),
            Skip("layout_gradients", "it says how memory is read, whatever the tensor is"),
            Skip("vmap_gradients", OFFSET),
            Skip("vmap_of_gradients", OFFSET),
        ),
    ),
]

OP_INFOS = [*SPLITS, *WINDOWED, *copies(WINDOWED), *WRITTEN]
