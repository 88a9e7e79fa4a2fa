"""Chunks: what kernels need of them, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import dask.array as da
import numpy as np

from dovetail_aten.typing import Array


class Chunked(Array, Protocol):
    """An array of Dask's: one that is computed chunk by chunk."""

    @property
    def chunks(self) -> tuple[tuple[int, ...], ...]:
        """Sizes of the chunks, of every dimension."""

    def rechunk(self, chunks: object, /) -> Any:
        """Return the elements in other chunks."""

    def map_blocks(self, function: object, /, *args: object, **kwargs: object) -> Any:
        """Return the array whose chunks `function` computes."""


def check_known(array: Array, what: str) -> None:
    """Raise an error for an array with chunks of unknown size. Raises ValueError with what to call.
    Every operator needs the shape of its arguments.
    """
    if any([math.isnan(size) for size in array.shape]):
        raise ValueError(
            f"{what}: the array has chunks of unknown sizes, shape {array.shape}: it came out of a "
            "selection by values, or of a data frame. Call array.compute_chunk_sizes() first, "
            "which computes them, or give them: array._chunks = ((10, 12), (4,))."
        )


def automatic(shape: Sequence[int]) -> Any:
    """Return the chunks of a new array: as many as Dask's setting of their size says. One without
    elements has one chunk, which Dask fails to find.
    """
    return tuple(shape) if 0 in shape else "auto"


def one_chunk_along(array: Any, *axes: int) -> Any:
    """Return `array` with one chunk along each of `axes`; itself if it is so already."""
    wanted = {axis % array.ndim: -1 for axis in axes} if array.ndim else {}
    if all([len(array.chunks[axis]) == 1 for axis in wanted]):
        return array
    return array.rechunk(wanted)


def one_chunk(array: Array) -> Any:
    """Return `array` in one chunk."""
    return one_chunk_along(array, *range(array.ndim))


def one_empty_chunk(array: Any) -> Any:
    """Return `array` in one chunk if it has no elements: of several empty ones Dask makes tasks for
    the first alone, and fails to reshape them.
    """
    return one_chunk(array) if isinstance(array, da.Array) and 0 in array.shape else array


def reshape(array: Any, shape: Sequence[int]) -> Any:
    """Return the elements in another shape, of which one size may be -1. By way of one dimension
    where Dask's own function gives up: it merges and splits dimensions, and does neither where a
    size goes into no other, nor for several empty chunks.

    Raises
    ------
    ValueError
        If the shape is that of another number of elements.
    """
    shape = tuple(shape)
    if 0 in array.shape:
        sizes = np.empty(array.shape).reshape(shape).shape
        return da.zeros(sizes, dtype=array.dtype, chunks=sizes)
    try:
        return array.reshape(shape)
    except NotImplementedError:
        return array.reshape(-1).reshape(shape)
