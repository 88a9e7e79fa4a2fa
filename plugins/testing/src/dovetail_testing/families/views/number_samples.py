"""Samples of views that numbers in tensors decide."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from dovetail_dispatcher.testing import SampleInput, Skip, TensorMaker

from ..makers import BY_VALUES, indices, op_info, refused
from .references import narrowed

info = partial(op_info, family="views")

VALUES = tuple(
    [Skip(check, "where it is cut is read from a tensor") for check in ("vmap", "meta_gradients")]
)


def starts(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make(4, 3), 0, indices(make, 1), 2)
    yield SampleInput(make(4, 3), 1, indices(make, -2), 1)


BY_NUMBERS = [
    info(
        "narrow.Tensor",
        starts,
        lambda x, dim, start, length: narrowed(x, dim, int(start), length),
        errors=refused(
            lambda make: SampleInput(make(4), 0, make(()), 1),
            RuntimeError,
            "start must be an 0-dim integral Tensor",
        ),
        skips=(*VALUES, *BY_VALUES),
    )
]
