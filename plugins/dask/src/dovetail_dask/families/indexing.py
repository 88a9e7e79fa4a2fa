"""Reading at indices that are computed later: chunks of the indices by chunks of the array's other
dimensions, each with what it reads along the indexed ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np

from dovetail_aten.typing import Array

from ..blockwise import Result, on_blocks
from ..chunks import reshape

_ALL = slice(None)


@dataclass(frozen=True)
class Read:
    """Reads a chunk at indices.

    Attributes
    ----------
    indexed
        For every dimension of the array whether there is an index for it.
    """

    indexed: tuple[bool, ...]

    def __call__(self, array: Array, *indices: Any) -> Any:
        """Return ``array[indices]``. Raises IndexError for indices out of range."""
        each = iter(indices)
        return array[tuple([next(each) if is_indexed else _ALL for is_indexed in self.indexed])]


def read(array: Array, key: Sequence[object]) -> Any:
    """Return ``array[key]``, where `key` has slices of everything, and arrays of integers that
    broadcast.
    """
    indices = da.broadcast_arrays(*[each for each in key if not isinstance(each, slice)])
    indexed = tuple([not isinstance(each, slice) for each in key])
    indexed += (False,) * (array.ndim - len(indexed))
    points = tuple([f"point {dim}" for dim in range(indices[0].ndim)])
    places = [dim for dim, is_indexed in enumerate(indexed) if is_indexed]
    side_by_side = places == list(range(places[0], places[-1] + 1))
    first = places[0] if side_by_side else 0  # as NumPy has it
    others = [dim for dim in range(array.ndim) if not indexed[dim]]
    before = [dim for dim in others if dim < first] if side_by_side else []
    labels = (*before, *points, *others[len(before) :])
    operands = [part for each in indices for part in (each, points)]
    return on_blocks(
        Read(indexed), Result(labels, array.dtype, {}), array, tuple(range(array.ndim)), *operands
    )


def take(array: Array, indices: Array, axis: int | None = None) -> Any:
    """Return the slices at `indices` along `axis`; None reads the array as one dimension."""
    if axis is None:
        array, axis = reshape(array, (-1,)), 0
    if not isinstance(indices, da.Array):
        return da.take(array, indices, axis=axis)
    return read(array, (*(_ALL,) * (axis % array.ndim), indices))


@dataclass(frozen=True)
class TakeAlong:
    """Takes elements along an axis of a chunk that holds it whole."""

    axis: int

    def __call__(self, array: np.ndarray, indices: np.ndarray) -> Any:
        """Return the elements. Raises IndexError for indices out of range."""
        return np.take_along_axis(array, indices, axis=self.axis)


def take_along_axis(array: Array, indices: Array, axis: int) -> Any:
    """Return the elements at `indices` along `axis`, at the same place in all other dimensions."""
    axis %= array.ndim
    own = tuple(range(array.ndim))
    labels = (*own[:axis], "taken", *own[axis + 1 :])
    return on_blocks(TakeAlong(axis), Result(labels, array.dtype, {}), array, own, indices, labels)
