"""Products of matrices: one task for each chunk of the result, or, where the dimension that is
summed over has several chunks, one for each of those, summed in a tree.
"""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np

from dovetail_aten.typing import Array

from ..blockwise import Result, on_blocks
from ..chunks import Chunked


def matmul(a: Chunked, b: Chunked) -> Any:
    """Return ``a @ b`` of arrays of one dtype, of any number of dimensions from 1 on."""
    batch = max(a.ndim, b.ndim) - 2
    first = _labels(a.ndim, batch, ("row", "along"))
    second = ("along",) if b.ndim == 1 else _labels(b.ndim, batch, ("along", "column"))
    if a.ndim == 1:
        first = ("along",)
    batches = tuple([f"batch {number}" for number in range(max(batch, 0))])
    labels = (*batches, *first[-2:-1], *(second[-1:] if b.ndim > 1 else ()))
    dtype = np.result_type(a.dtype, b.dtype)
    sizes = a.chunks[-1]
    if len(sizes) == 1:
        return on_blocks(np.matmul, Result(labels, dtype, {}), a, first, b, second)
    b = b.rechunk({_along(b): sizes})
    parts = on_blocks(
        _in_front, Result(("along", *labels), dtype, {}), a, first, b, second, sizes={"along": 1}
    )
    return da.sum(parts, axis=0, dtype=dtype, split_every=4)


def _labels(ndim: int, batch: int, last: tuple[str, str]) -> tuple[str, ...]:
    """Return labels of a stack of matrices; stacks are aligned at the end."""
    return (*[f"batch {number}" for number in range(batch - (ndim - 2), batch)], *last)


def _along(b: Array) -> int:
    return 0 if b.ndim == 1 else int(b.ndim) - 2


def _in_front(a: np.ndarray, b: np.ndarray) -> Any:
    return np.matmul(a, b)[None]
