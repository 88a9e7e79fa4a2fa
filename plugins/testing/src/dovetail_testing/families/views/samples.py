"""Samples of views: tensors that share the memory of their operand."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, Skip, TensorMaker
from dovetail_kernel import bfloat16, float16, float32, float64, int16, int32, int64

from ..makers import (
    COMPLEX,
    FLOATING,
    Errors,
    Samples,
    dim_out_of_range,
    op_info,
    refused,
    rows,
    smooth,
)
from .copies import copies
from .in_place_samples import IN_PLACE
from .memory_samples import MEMORY
from .number_samples import BY_NUMBERS
from .references import (
    as_strided,
    chunk,
    expanded,
    flattened,
    narrowed,
    of_matrices,
    permuted,
    put_back,
    selected,
    sliced,
    split,
    squeezed,
    unflattened,
)

info = partial(op_info, family="views")


def like(*pairs: tuple[tuple[int, ...], tuple[int, ...]]) -> Samples:
    """Return samples of two tensors with given shapes."""
    return lambda make: [SampleInput(make(shape), make(other)) for shape, other in pairs]


def bad(*args: Any, text: str, error: type[Exception] = RuntimeError) -> Errors:
    """Return a call with a matrix of 2×3 that is refused."""
    return refused(lambda make: SampleInput(make(2, 3), *args), error, text)


NEW_SHAPES = (
    ((2, 3), (3, 2)),
    ((2, 3), (6,)),
    ((2, 3), (-1,)),
    ((2, 3), (1, 2, 3)),
    ((2, 3), (2, -1)),
    ((), (1, 1)),
    ((1,), ()),
    ((0, 3), (3, 0)),
    ((2, 1, 3), (2, 3)),
    ((), ()),
)
SWAPS = (
    ((2, 3), 0, 1),
    ((2, 3), -1, 0),
    ((2, 1, 3), 0, -1),
    ((2, 3), 1, 1),
    ((), 0, -1),
    ((0, 3), 0, 1),
)
MOVES = (((2, 1, 3), 0, 2), ((2, 1, 3), -1, 0), ((2, 3), 0, 0))
MOVED = (((2, 1, 3), (0, 1), (2, 0)), ((2, 1, 3), (-1,), (0,)), ((2, 3), (), ()))
SPLITS = (((4, 3), 2), ((3, 4), 2, 1), ((5,), 2), ((2, 3), 1, -1), ((0, 3), 2), ((2, 3), 7, 1))
PARTS = (((4, 3), (1, 3)), ((3, 4), (1, 0, 3), 1), ((5,), (2, 3), -1))
BROADCASTS = (
    ((2, 1), (2, 3)),
    ((3,), (2, 3)),
    ((3,), (4, 2, -1)),
    ((), (2, 2)),
    ((2, 3), (-1, 3)),
    ((1, 3), (0, 3)),
    ((2, 1), (1, 2, 3)),
)
AS_STRIDED = (
    ((2, 3), (2, 2), (1, 2)),
    ((2, 3), (2, 2), (1, 2), 1),
    ((6,), (2, 3), (3, 1)),
    ((2, 3), (), ()),
    ((2, 3), (3,), (2,), 1),
    ((2, 3), (2, 2), (0, 1)),
)
SLICES = (
    ((4, 3), 0, 1, 3),
    ((4, 3), 1, None, None, 2),
    ((4, 3), 0, -2),
    ((4, 3), 0, 5, 1),
    ((4, 3),),
    ((5,), 0, 0, 9, 3),
    ((0, 3), 0, 0, 1),
    ((4, 3), -1, 0, -1),
)
DIAGONALS = (
    ((3, 3),),
    ((2, 3), 1),
    ((2, 3), -1),
    ((2, 3, 4), 0, 1, 2),
    ((2, 3, 4), 1, -1, 0),
    ((2, 3), 5),
)
CONTENTS = {float64: int64, float32: int32, float16: int16, int64: float64, int32: float32}


def other_contents(make: TensorMaker) -> list[SampleInput]:
    """Return tensors with the dtype to read their memory as: of the same, or of half the size."""
    samples = [SampleInput(make(2, 3), CONTENTS.get(make.dtype, make.dtype))]
    if make.dtype is float64:
        samples += [SampleInput(make(2, 3), float32), SampleInput(make(2, 3), int16)]
    return samples


batches = rows(((2, 3),), ((2, 1, 3),), ((0, 3),), ((2, 2, 2, 3),))
matrices = rows(((2, 3),), ((1, 3),), ((0, 3),))
LAYOUTS = ("layouts", "layout_gradients")
IN_ORDER = tuple(
    [Skip(check, "a view needs elements that lie in order, and says so") for check in LAYOUTS]
)
WHATEVER = tuple(
    [Skip(check, "it says how memory is read, whatever the tensor is") for check in LAYOUTS]
)
OFFSET = "an offset is that of the first sample, and not of every slice, as in PyTorch"

adjoint = of_matrices(lambda x: np.conj(np.swapaxes(x, -2, -1)))
transposed = of_matrices(lambda x: np.swapaxes(x, -2, -1))

wrong_dim = dim_out_of_range(5)
no_view = bad((4, 2), text=r"shape '\[4, 2\]' is invalid for input of size 6")
no_broadcast = bad(
    (2, 4), text=r"The expanded size of the tensor \(4\) must match the existing size \(3\)"
)

SHAPE = [
    info("view", rows(*NEW_SHAPES), np.reshape, errors=no_view, skips=IN_ORDER),
    info("_unsafe_view", rows(*NEW_SHAPES), np.reshape, errors=no_view),
    info("reshape", rows(*NEW_SHAPES), np.reshape, errors=no_view),
    info(
        "view_as",
        like(((2, 3), (3, 2)), ((), (1,))),
        lambda x, y: x.reshape(y.shape),
        skips=IN_ORDER,
    ),
    info("reshape_as", like(((2, 3), (3, 2)), ((), (1,))), lambda x, y: x.reshape(y.shape)),
    info("expand", rows(*BROADCASTS), expanded, errors=no_broadcast),
    info("broadcast_to", rows(*BROADCASTS), expanded, errors=no_broadcast),
    info("expand_as", like(((2, 1), (2, 3)), ((), (2,))), lambda x, y: np.broadcast_to(x, y.shape)),
    info(
        "flatten.using_ints",
        rows(((2, 1, 3),), ((2, 1, 3), 1), ((2, 3, 4), 0, 1), ((),), ((0, 3),)),
        flattened,
        errors=wrong_dim,
    ),
    info(
        "unflatten.int",
        rows(((2, 6), 1, (2, 3)), ((6,), 0, (2, 3)), ((2, 6), -1, (3, 2))),
        unflattened,
        errors=bad(1, (2, 2), text=r"shape '\[2, 2\]' is invalid for input of size 3"),
    ),
    info(
        "unsqueeze",
        rows(((2, 3), 0), ((2, 3), 2), ((2, 3), -2), ((), 0), ((0, 3), 1)),
        np.expand_dims,
        errors=bad(5, text="Dimension out of range", error=IndexError),
    ),
    info("squeeze", rows(((2, 1, 3),), ((1, 1),), ((2, 3),), ((),)), squeezed),
    info(
        "squeeze.dim",
        rows(((2, 1, 3), 1), ((2, 1, 3), 0), ((), 0), ((0, 1), -1)),
        squeezed,
        errors=wrong_dim,
    ),
    info(
        "squeeze.dims",
        rows(((1, 2, 1), (0, 2)), ((1, 2, 1), (0, 1)), ((1, 2, 1), ()), ((), (0,))),
        squeezed,
        errors=dim_out_of_range((5,)),
    ),
    info(
        "as_strided",
        rows(*AS_STRIDED),
        as_strided,
        errors=bad((4,), (3,), text="are out of bounds for storage of size"),
        skips=(*WHATEVER, Skip("vmap_gradients", OFFSET), Skip("vmap_of_gradients", OFFSET)),
    ),
    info("view.dtype", other_contents, None, supports_autograd=False),
]

ORDER = [
    info(
        "permute",
        rows(
            ((2, 3), (1, 0)),
            ((2, 1, 3), (2, 0, 1)),
            ((2, 1, 3), (0, -1, 1)),
            ((), ()),
            ((0, 3), (1, 0)),
        ),
        permuted,
        errors=bad((0,), text=r"permute\(sparse_coo\)|number of dimensions"),
    ),
    *[
        info(
            name,
            rows(*SWAPS),
            lambda x, a, b: np.swapaxes(x, a, b) if x.ndim else x,
            errors=dim_out_of_range(0, 5),
        )
        for name in ("transpose.int", "swapaxes", "swapdims")
    ],
    *[
        info(f"{name}.int", rows(*MOVES), np.moveaxis, errors=dim_out_of_range(0, 5))
        for name in ("movedim", "moveaxis")
    ],
    *[info(f"{name}.intlist", rows(*MOVED), np.moveaxis) for name in ("movedim", "moveaxis")],
    info(
        "t",
        rows(((2, 3),), ((3,),), ((),), ((0, 3),)),
        np.transpose,
        errors=refused(
            lambda make: SampleInput(make(1, 2, 3)),
            RuntimeError,
            "expects a tensor with <= 2 dimensions",
        ),
    ),
    info("numpy_T", rows(((2, 3),)), np.transpose),
    info(
        "mT",
        batches,
        transposed,
        errors=refused(lambda make: SampleInput(make(2)), RuntimeError, "matrices"),
    ),
    info("mH", batches, adjoint),
    info("adjoint", batches, adjoint),
    info(
        "matrix_H",
        matrices,
        adjoint,
        errors=refused(
            lambda make: SampleInput(make(1, 2, 3)), RuntimeError, "only supported on matrices"
        ),
    ),
]

PARTS_OF = [
    info(
        "select.int",
        rows(((2, 3), 0, 1), ((2, 3), 1, -1), ((3,), 0, 0), ((2, 1, 3), -1, 2)),
        selected,
        errors=bad(
            0,
            2,
            text=r"select\(\): index 2 out of range for tensor of size \[2, 3\]",
            error=IndexError,
        ),
    ),
    info("slice.Tensor", rows(*SLICES), sliced, errors=wrong_dim),
    info(
        "narrow",
        rows(((4, 3), 0, 1, 2), ((4, 3), -1, 0, 3), ((4, 3), 0, -2, 1), ((4, 3), 1, 3, 0)),
        narrowed,
        errors=bad(1, 2, 3, text=r"start \(2\) \+ length \(3\) exceeds dimension size \(3\)"),
    ),
    info(
        "unbind.int",
        rows(((2, 3),), ((2, 3), 1), ((2, 1, 3), -1)),
        lambda x, dim=0: [np.take(x, i, dim) for i in range(x.shape[dim])],
        errors=wrong_dim,
    ),
    info(
        "split.Tensor",
        rows(*SPLITS),
        split,
        errors=bad(-1, text="split expects split_size be non-negative"),
    ),
    info("split.sizes", rows(*PARTS), split),
    info(
        "split_with_sizes",
        rows(*PARTS),
        split,
        errors=bad((1, 2), text="expects split_sizes to sum exactly to 2"),
    ),
    info(
        "chunk",
        rows(((4, 3), 2), ((5,), 3), ((3, 4), 3, 1), ((0, 3), 2), ((2, 3), 7, 1)),
        chunk,
        errors=bad(0, text="chunk expects `chunks` to be greater than 0"),
    ),
    info(
        "diagonal",
        rows(*DIAGONALS),
        np.diagonal,
        errors=bad(0, 1, 1, text="diagonal dimensions cannot be identical"),
    ),
    info("select_backward", rows(((3,), (2, 3), 0, 1), ((2,), (2, 3), 1, -1)), put_back(selected)),
    info(
        "slice_backward",
        rows(((2, 3), (4, 3), 0, 1, 3, 1), ((4, 2), (4, 3), 1, 0, 3, 2)),
        put_back(sliced),
    ),
    info(
        "diagonal_backward",
        rows(((3,), (3, 3), 0, 0, 1), ((2,), (2, 3), 1, 0, 1)),
        put_back(np.diagonal),
    ),
]

AS_IT_IS = [
    info("alias", smooth(), lambda x: x),
    info("detach", smooth(), lambda x: x, supports_autograd=False),
    info("conj", smooth(), np.conj),
    info("resolve_conj", smooth(), lambda x: x),
    info("real", smooth(), np.real),
    info(
        "imag",
        smooth(),
        np.imag,
        COMPLEX,
        skips=(Skip("dtypes", "real tensors have one too, of zeros; PyTorch refuses them"),),
    ),
    info("view_as_real", smooth(), lambda x: np.stack([x.real, x.imag], -1), COMPLEX),
    info(
        "view_as_complex",
        rows(((3, 2),), ((2, 3, 2),), ((2,),)),
        lambda x: x[..., 0] + 1j * x[..., 1],
        FLOATING - {float16, bfloat16},
        errors=bad(text="Tensor must have a last dimension of size 2"),
        skips=IN_ORDER,
    ),
]

VIEWS = [*SHAPE, *ORDER, *PARTS_OF, *AS_IT_IS]

OP_INFOS = [*VIEWS, *copies(VIEWS), *MEMORY, *IN_PLACE, *BY_NUMBERS]
