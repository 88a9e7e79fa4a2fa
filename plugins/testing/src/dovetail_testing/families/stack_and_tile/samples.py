"""Samples of tensors side by side, of more dimensions, turned round, repeated over a grid."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput

from ..makers import Samples, op_info, refusals, refused, rows, smooth

info = partial(op_info, family="stack_and_tile")


def lists(*rows: tuple[tuple[int, ...], ...], **kwargs: Any) -> Samples:
    """Return samples of lists of tensors of given shapes."""
    return lambda make: [SampleInput([make(shape) for shape in row], **kwargs) for row in rows]


def blocks(tensors: Any) -> Any:
    own = [np.atleast_2d(each) for each in tensors]
    shape = np.sum([each.shape for each in own], axis=0)
    result = np.zeros(shape, np.result_type(*own))
    row = column = 0
    for each in own:
        height, width = each.shape
        result[row : row + height, column : column + width] = each
        row, column = row + height, column + width
    return result


def chunks(tensors: Sequence[np.ndarray], dim: int, count: int) -> Any:
    made = []
    for each in tensors:
        padding = [(0, -each.shape[d] % count if d == dim else 0) for d in range(each.ndim)]
        padded = np.pad(each, padding)
        made.append(padded.reshape((*each.shape[:dim], count, -1)))
    return np.concatenate(made, dim + 1)


def all_through(function: Any) -> Any:
    """Return the reference of an operator that goes over a list."""
    return lambda tensors: [function(each) for each in tensors]


def grid(tensors: Any, indexing: Any = "ij") -> Any:
    return np.meshgrid(*tensors, indexing=indexing)


MIXED = (((2, 3), (3,), (), (2, 1, 3)), ((2,),))
nothing = refused(lambda make: SampleInput([]), RuntimeError, "expects a non-empty TensorList")
no_matrix = refused(lambda make: SampleInput(make(3)), RuntimeError, "Input must be >= 2-d")

OP_INFOS = [
    *[info(f"atleast_{n}d", smooth(), getattr(np, f"atleast_{n}d")) for n in (1, 2, 3)],
    *[
        info(f"atleast_{n}d.Sequence", lists(*MIXED), all_through(getattr(np, f"atleast_{n}d")))
        for n in (1, 2, 3)
    ],
    info(
        "column_stack",
        lists(((3,), (3, 2)), ((2,), (2,)), ((),)),
        lambda tensors: np.column_stack([np.atleast_1d(each) for each in tensors]),
        errors=nothing,
    ),
    info("dstack", lists(((3,), (3,)), ((2, 3), (2, 3)), ((),)), np.dstack, errors=nothing),
    info("row_stack", lists(((3,), (2, 3)), ((2,), (2,)), ((),)), np.vstack, errors=nothing),
    info(
        "_chunk_cat",
        lambda make: [
            SampleInput([make(3, 2), make(2, 2)], 0, 2),
            SampleInput([make(2, 3), make(2, 5, 2)], 1, 2),
        ],
        chunks,
        errors=refused(
            lambda make: SampleInput([make(2)], 0, 0), RuntimeError, "expects positive num_chunks"
        ),
    ),
    info(
        "block_diag",
        lists(((2, 3), (1,), ()), ((2, 2),), ((0, 2), (2, 0), (1, 1))),
        blocks,
        errors=refused(
            lambda make: SampleInput([make(1, 1, 1)]),
            RuntimeError,
            "Input tensors must have 2 or fewer dimensions. Input 0 has 3 dimensions",
        ),
    ),
    info(
        "meshgrid",
        lists(((2,), (3,)), ((2,), (), (1,)), ((3,),), ((0,), (2,))),
        grid,
        errors=refusals(
            (
                lambda make: SampleInput([make(2, 2)]),
                RuntimeError,
                "Expected 0D or 1D tensor in the tensor list",
            ),
            (lambda make: SampleInput([]), RuntimeError, "expects a non-empty TensorList"),
        ),
    ),
    info(
        "meshgrid.indexing",
        lists(((2,), (3,), (4,)), ((3,), ()), ((3,),), indexing="xy"),
        grid,
        errors=refused(
            lambda make: SampleInput([make(2)], indexing="yx"),
            RuntimeError,
            'indexing must be one of "xy" or "ij", but received: yx',
        ),
    ),
    info(
        "broadcast_tensors",
        lists(((2, 1), (3,)), ((), (2,)), ((2, 3),)),
        lambda tensors: np.broadcast_arrays(*tensors),
        errors=refused(
            lambda make: SampleInput([make(2), make(3)]), RuntimeError, "must match the size"
        ),
    ),
    info("fliplr", rows(((2, 3),), ((2, 1, 3),), ((0, 3),)), np.fliplr, errors=no_matrix),
    info(
        "flipud",
        rows(((2, 3),), ((3,),), ((0, 3),)),
        np.flipud,
        errors=refused(lambda make: SampleInput(make(())), RuntimeError, "Input must be >= 1-d"),
    ),
    info(
        "rot90",
        rows(((2, 3),), ((2, 3), 2), ((2, 3), -1), ((2, 3), 4), ((2, 1, 3), 1, (2, 0))),
        np.rot90,
        errors=refusals(
            (
                lambda make: SampleInput(make(2, 3), 1, (0,)),
                RuntimeError,
                "expected total rotation dims == 2, but got dims = 1",
            ),
            (
                lambda make: SampleInput(make(2), 1, (0, 1)),
                RuntimeError,
                "expected total dims >= 2",
            ),
            (
                lambda make: SampleInput(make(2, 3), 1, (1, -1)),
                RuntimeError,
                "expected rotation dims to be different",
            ),
            (lambda make: SampleInput(make(2, 3), 1, (0, 3)), IndexError, "Dimension out of range"),
        ),
    ),
    info("ravel", smooth(), np.ravel),
    info("diagflat", rows(((2, 2),), ((3,), 1), ((), -1), ((0,),)), np.diagflat),
]
