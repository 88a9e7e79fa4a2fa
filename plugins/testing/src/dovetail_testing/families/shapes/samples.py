"""Samples of copies, conversions, and operators that join and arrange."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, Skip, TensorMaker
from dovetail_kernel import channels_last, contiguous_format, float64

from ..makers import Errors, Samples, dim_out_of_range, op_info, refused, rows, smooth

info = partial(op_info, family="shapes")


def lists(*each: tuple[Any, ...]) -> Samples:
    """Return samples by rows: the shapes of a list of tensors, and the arguments behind it."""
    return lambda make: [
        SampleInput([make(shape) for shape in shapes], *args) for shapes, *args in each
    ]


def bad(*args: Any, text: str, error: type[Exception] = RuntimeError) -> Errors:
    return refused(lambda make: SampleInput(make(2, 3), *args), error, text)


def same(x: np.ndarray, *args: Any, **kwargs: Any) -> Any:
    """Return a tensor that is copied or converted to a wider dtype."""
    return x


def wider(make: TensorMaker) -> Any:
    """Return a dtype that samples convert to without loss of their kind."""
    return make.dtype if make.dtype.is_complex else float64


def conversions(make: TensorMaker) -> Iterator[SampleInput]:
    yield from smooth()(make)
    yield SampleInput(make(2, 3), dtype=wider(make))
    yield SampleInput(make(2, 3).t(), memory_format=contiguous_format)


def to_dtype(make: TensorMaker) -> Iterator[SampleInput]:
    for shape in ((2, 3), (), (0, 3)):
        yield SampleInput(make(shape), wider(make))
    yield SampleInput(make(2, 3), make.dtype, False, True)


def to_device(make: TensorMaker) -> Iterator[SampleInput]:
    x = make(2, 3)
    yield SampleInput(x, x.device, wider(make))


def to_other(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make((), dtype=wider(make), requires_grad=False))


def to_layout(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), dtype=wider(make))
    yield SampleInput(make(2, 3), copy=True)


def clones(make: TensorMaker) -> Iterator[SampleInput]:
    yield from smooth()(make)
    yield SampleInput(make(2, 3).t(), memory_format=contiguous_format)
    yield SampleInput(make(1, 2, 3, 2), memory_format=channels_last)


def copies(make: TensorMaker) -> Iterator[SampleInput]:
    for shape, source in (((2, 3), (2, 3)), ((2, 3), (3,)), ((), ()), ((0, 3), (3,))):
        yield SampleInput(make(shape), make(source))


def tiled(x: Any, dims: Any) -> Any:
    return np.tile(x, dims)


def rolled(x: Any, shifts: Any, dims: Any = ()) -> Any:
    return np.roll(x, shifts, dims) if dims else np.roll(x, shifts[0])


def embedded(x: np.ndarray, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    size = x.shape[-1] + abs(offset)
    result = np.zeros((*x.shape[:-1], size, size), x.dtype)
    rows = np.arange(x.shape[-1]) + max(-offset, 0)
    result[..., rows, rows + offset] = x
    return np.moveaxis(result, (-2, -1), (dim1, dim2))


def padded(x: Any, pad: Any, value: Any = 0) -> Any:
    widths = [(0, 0)] * (x.ndim - len(pad) // 2)
    widths += [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)][::-1]
    grown = np.pad(x, [(max(a, 0), max(b, 0)) for a, b in widths], constant_values=value)
    return grown[
        tuple(
            [
                slice(max(-a, 0), n - max(-b, 0))
                for (a, b), n in zip(widths, grown.shape, strict=True)
            ]
        )
    ]


def padded_by(x: np.ndarray, pad: object, mode: str = "constant", value: object = 0) -> Any:
    return padded(x, pad, value or 0)


PADS = (
    ((2, 3), (1, 2)),
    ((2, 3), (1, 1, 0, 2), 1),
    ((3, 4), (-1, 0)),
    ((3,), (0, 2)),
    ((0, 3), (1, 0, 1, 0)),
)
PADDED = (((2, 3), (1, 2)), ((2, 3), (1, 1, 0, 2), "constant", 1.0))
CATS = (
    ([(2, 3), (2, 3)],),
    ([(2, 3), (1, 3)],),
    ([(2, 3), (2, 1), (2, 2)], 1),
    ([(3,)], -1),
    ([(2, 3), (0,)],),
    ([(0, 3), (2, 3)],),
)
STACKS = (
    ([(2, 3), (2, 3)],),
    ([(2, 3), (2, 3)], -1),
    ([(), (), ()],),
    ([(3,)], 1),
    ([(0, 3), (0, 3)], 2),
)
no_cat = refused(
    lambda make: SampleInput([make(2, 3), make(2, 4)]),
    RuntimeError,
    "Sizes of tensors must match except in dimension 0",
)

COPIES = [
    info("clone", clones, same),
    info("contiguous", smooth(), same),
    info(
        "copy_",
        copies,
        lambda x, source: np.broadcast_to(source, x.shape),
        errors=refused(
            lambda make: SampleInput(make(3), make(2)),
            RuntimeError,
            r"output with shape \[3\] doesn't match the broadcast shape \[2\]",
        ),
    ),
    info("_to_copy", conversions, same),
    info("to.dtype", to_dtype, same),
    info(
        "to.device",
        to_device,
        same,
        skips=(Skip("meta_gradients", "the samples convert to a real device"),),
    ),
    info("to.other", to_other, same),
    info("to.dtype_layout", to_layout, same),
]

ARRANGED = [
    info(
        "flip",
        rows(((2, 3), (0,)), ((2, 3), (0, -1)), ((2, 3), ()), ((), ()), ((0, 3), (1,))),
        lambda x, dims: np.flip(x, dims) if dims else x,
        errors=dim_out_of_range((5,)),
    ),
    info(
        "roll",
        rows(
            ((2, 3), (1,), (0,)),
            ((2, 3), (1, -1), (0, 1)),
            ((2, 3), (2,)),
            ((3,), (4,), (0,)),
            ((0, 3), (1,), (0,)),
        ),
        rolled,
        errors=dim_out_of_range((1,), (5,)),
    ),
    info(
        "repeat",
        rows(((2, 3), (2, 1)), ((3,), (2, 2)), ((), (3,)), ((2, 3), (0, 1)), ((), ())),
        tiled,
        errors=bad(
            (2,), text="Number of dimensions of repeat dims can not be smaller than number of dim"
        ),
    ),
    info("tile", rows(((2, 3), (2, 1)), ((2, 3), (2,)), ((3,), (2, 2)), ((), (3,))), tiled),
    info(
        "tril",
        rows(((2, 3),), ((3, 3), 1), ((3, 3), -1), ((2, 2, 3),), ((0, 3),)),
        np.tril,
        errors=refused(
            lambda make: SampleInput(make(3)),
            RuntimeError,
            "tril: input tensor must have at least 2 dim",
        ),
    ),
    info(
        "triu",
        rows(((2, 3),), ((3, 3), 1), ((3, 3), -1), ((2, 2, 3),), ((0, 3),)),
        np.triu,
        errors=refused(
            lambda make: SampleInput(make(3)),
            RuntimeError,
            "triu: input tensor must have at least 2 dim",
        ),
    ),
    info("diag", rows(((3,),), ((3,), 1), ((2, 3),), ((3, 3), -1)), np.diag),
    info(
        "diag_embed",
        rows(((3,),), ((2, 3), 1), ((2, 3), -1), ((2, 3), 0, 0, 2)),
        embedded,
        errors=bad(0, 1, 1, text="cannot be identical"),
    ),
    info(
        "constant_pad_nd", rows(*PADS), padded, errors=bad((1,), text="Length of pad must be even")
    ),
    info("pad", rows(*PADDED), padded_by),
]

JOINED = [
    *[
        info(
            name,
            lists(*CATS),
            lambda tensors, dim=0: np.concatenate([x for x in tensors if x.shape != (0,)], dim),
            errors=no_cat,
        )
        for name in ("cat", "concat", "concatenate")
    ],
    info(
        "stack",
        lists(*STACKS),
        np.stack,
        errors=refused(
            lambda make: SampleInput([make(2), make(3)]),
            RuntimeError,
            "stack expects each tensor to be equal size",
        ),
    ),
    info("hstack", lists(([(2, 3), (2, 1)],), ([(3,), (2,)],), ([(), ()],)), np.hstack),
    info("vstack", lists(([(2, 3), (1, 3)],), ([(3,), (3,)],), ([(), ()],)), np.vstack),
]

OP_INFOS = [*COPIES, *ARRANGED, *JOINED]
