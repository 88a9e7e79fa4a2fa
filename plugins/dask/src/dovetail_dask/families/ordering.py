"""The greatest elements along a dimension of several chunks: those of each chunk, and of these."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dovetail_aten.backends import KernelTable
from dovetail_aten.kernel_support import wrap_dim
from dovetail_aten.typing import Array

from ..blockwise import Result, on_blocks_for_several
from ..chunked import AlongDim
from ..chunks import Chunked
from ..cpu_calls import cpu_kernel
from ..shapes import results_of
from .indexing import take_along_axis
from .writes import starts

_topk = AlongDim("topk")


def define(_xp: object, kernel: KernelTable, _capabilities: object) -> None:
    """Define the kernel of `topk` in a table."""
    kernel("topk", topk)


def topk(
    x: Chunked, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Any, Any]:
    """Return the `k` greatest, or least, elements along `dim`, and their places."""
    results_of("topk", (x, k, dim, largest, sorted), {})  # refuses a k that is too large
    axis = wrap_dim(dim, x.ndim)
    if not x.ndim or len(x.chunks[axis]) == 1 or not 0 < k < max(x.chunks[axis]):
        made: tuple[Any, Any] = _topk(x, k, dim, largest, sorted)
        return made
    values, places = _of_chunks(x, k, axis, largest)
    values, chosen = _topk(values, k, axis, largest, sorted)
    return values, take_along_axis(places, chosen, axis)


def _of_chunks(x: Chunked, k: int, axis: int, largest: bool) -> list[Any]:
    """Return the greatest elements of each chunk, and their places in the whole."""
    own = tuple(range(x.ndim))
    sizes = tuple([min(size, k) for size in x.chunks[axis]])
    return on_blocks_for_several(
        partial(_greatest, k, axis, largest),
        own,
        [Result(own, x.dtype, {}), Result(own, np.dtype(np.int64), {})],
        *(x, own, starts(x, axis), (axis,)),
        align=False,
        sizes={axis: sizes},
    )


def _greatest(k: int, axis: int, largest: bool, chunk: Array, start: np.ndarray) -> tuple[Any, Any]:
    count = min(k, chunk.shape[axis])
    values, places = cpu_kernel("topk")(chunk, count, axis, largest, False)
    return np.asarray(values), np.asarray(places) + start[0]
