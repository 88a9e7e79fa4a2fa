"""Samples of views in place."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np

from dovetail_dispatcher.testing import SampleInput, Skip, TensorMaker

from ..makers import op_info, refused, rows
from .references import as_strided, squeezed

SKIPS: Final = (
    Skip("constants", "a leaf that requires grad is refused"),
    Skip("vmap", "what is mapped over keeps its shape; the result has the new one"),
)
info = partial(op_info, family="views", supports_autograd=False, skips=SKIPS)


def beyond(*args: Any) -> Any:
    """Return a call with a matrix that names a dimension it does not have."""

    def sample(make: TensorMaker) -> SampleInput:
        return SampleInput(make(2, 3), *args)

    return refused(sample, IndexError, "Dimension out of range")


SWAPPED: Final = rows(((2, 3), 0, 1), ((2, 3, 4), 0, -1), ((2, 3), 1, 1), ((), 0, -1))

IN_PLACE = [
    info("squeeze_", rows(((2, 1, 3),), ((1, 1),), ((2, 3),), ((),)), squeezed),
    info("squeeze_.dim", rows(((2, 1, 3), 1), ((2, 1, 3), 0), ((), 0)), squeezed, errors=beyond(5)),
    info(
        "squeeze_.dims",
        rows(((1, 2, 1), (0, 2)), ((1, 2, 1), (0, 1)), ((1, 2, 1), ())),
        squeezed,
        errors=beyond((5,)),
    ),
    info(
        "unsqueeze_",
        rows(((2, 3), 0), ((2, 3), 2), ((2, 3), -2), ((), 0)),
        np.expand_dims,
        errors=beyond(5),
    ),
    info("t_", rows(((2, 3),), ((3,),), ((),)), np.transpose),
    *[
        info(
            name,
            SWAPPED,
            lambda x, a, b: np.swapaxes(x, a, b) if x.ndim else x,
            errors=beyond(0, 5),
        )
        for name in ("transpose_", "swapaxes_", "swapdims_")
    ],
    info(
        "as_strided_",
        rows(((2, 3), (3, 2), (1, 3)), ((6,), (2, 2), (2, 1), 0)),
        as_strided,
        errors=refused(
            lambda make: SampleInput(make(2, 3), (4,), (3,)), RuntimeError, "out of bounds"
        ),
        skips=(*SKIPS, Skip("layouts", "it says how memory is read, whatever the tensor is")),
    ),
]
