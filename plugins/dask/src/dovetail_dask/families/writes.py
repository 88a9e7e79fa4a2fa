"""Writing at indices that are computed later. A chunk of the array is one task, which is given the
indices and picks those that lie in it; additions are summed over the chunks of the source in a
tree, so that none of them is held for long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np

from dovetail_aten.typing import Array

from ..blockwise import Result, on_blocks
from ..chunks import Chunked

_ALL = slice(None)


def starts(array: Chunked, dim: int) -> Any:
    """Return where the chunks along a dimension begin, one number for each chunk."""
    sizes = array.chunks[dim]
    return da.from_array(np.cumsum([0, *sizes[:-1]]), chunks=1, name=False)


def inside(index: Any, start: Any, size: int, length: int) -> tuple[Any, Any]:
    """Return which of `index` lie in ``[start, start + size)``, and all of them counted from there.
    That none is beyond a dimension of `length` was checked.
    """
    own = np.where(index < 0, index + length, index) - int(start[0])
    return (own >= 0) & (own < size), own


@dataclass(frozen=True)
class AddSlices:
    """Sums the slices of a chunk of the source that are for a chunk of the result."""

    dim: int
    length: int

    def __call__(
        self, shaped: np.ndarray, start: np.ndarray, index: np.ndarray, source: np.ndarray
    ) -> Any:
        """Return the sums, with a dimension in front for the chunk of the source."""
        here, places = inside(index, start, shaped.shape[self.dim], self.length)
        made = np.zeros(shaped.shape, source.dtype)
        before = (_ALL,) * self.dim
        np.add.at(made, (*before, places[here]), source[(*before, here)])
        return made[None]


def index_add(array: Any, dim: int, index: Any, source: Any) -> Any:
    """Return a copy with the slices of `source` added at `index` along `dim`."""
    if not source.size:
        return array.copy()
    own = tuple(range(array.ndim))
    labels = (*own[:dim], "source", *own[dim + 1 :])
    # The chunks of the source's other dimensions are those of the array.
    source = source.rechunk({each: array.chunks[each] for each in own if each != dim})
    index = index.rechunk({0: source.chunks[dim]})
    parts = on_blocks(
        AddSlices(dim, array.shape[dim]),
        Result(("source", *own), array.dtype, {}),
        *(da.zeros_like(array), own, starts(array, dim), (dim,), index, ("source",)),
        *(source, labels),
        align=False,
        sizes={"source": 1},
    )
    return array + da.sum(parts, axis=0, dtype=array.dtype, split_every=4)


@dataclass(frozen=True)
class PutPoints:
    """Writes, or adds, values at points that lie in a chunk of the array.

    Attributes
    ----------
    indexed
        The dimensions that there are indices for.
    lengths
        Sizes of these dimensions of the whole array.
    accumulate
        Whether values are added.
    """

    indexed: tuple[int, ...]
    lengths: tuple[int, ...]
    accumulate: bool

    def __call__(self, array: np.ndarray, values: Array, *given: Any) -> Any:
        """Return the chunk with the values; `given` are starts and indices by turns."""
        made = array.copy()
        here, places = True, []
        pairs = zip(given[::2], given[1::2], self.indexed, self.lengths, strict=True)
        for start, index, dim, length in pairs:
            lies, own = inside(index, start, array.shape[dim], length)
            here = here & lies
            places.append(own)
        key: list[Any] = [_ALL] * array.ndim
        for dim, own in zip(self.indexed, places, strict=True):
            key[dim] = own[here]
        # One index after another, those with an index in front: as the values lie.
        moved = np.moveaxis(made, self.indexed, range(len(self.indexed)))
        points = tuple([key[dim] for dim in self.indexed])
        if self.accumulate:
            np.add.at(moved, points, values[here])
        else:
            moved[points] = values[here]
        return made


def index_put(array: Chunked, key: Sequence[object], values: Any, accumulate: bool) -> Any:
    """Return a copy with `values` at ``[key]``, or added there, including at repeated indices.

    Parameters
    ----------
    key
        Slices of everything, and arrays of integers that broadcast.
    values
        An array that broadcasts to ``array[key]``.
    """
    indexed = tuple([dim for dim, each in enumerate(key) if not isinstance(each, slice)])
    indices = da.broadcast_arrays(*[key[dim] for dim in indexed])
    shape, rest = indices[0].shape, [d for d in range(array.ndim) if d not in indexed]
    if 0 in shape or not array.size:
        return array.copy()
    values = _points_first(array, indexed, shape, rest, da.asarray(values))
    values = values.rechunk(
        {len(shape) + place: array.chunks[dim] for place, dim in enumerate(rest)}
    )
    points = tuple([f"point {place}" for place in range(len(shape))])
    given = [
        part
        for dim, index in zip(indexed, indices, strict=True)
        for part in (starts(array, dim), (dim,), index, points)
    ]
    own = tuple(range(array.ndim))
    return on_blocks(
        PutPoints(indexed, tuple([array.shape[dim] for dim in indexed]), accumulate),
        Result(own, array.dtype, {}),
        *(array, own, values, (*points, *rest), *given),
        align=False,
    )


def _points_first(
    array: Array, indexed: Sequence[int], shape: tuple[int, ...], rest: Sequence[int], values: Array
) -> Any:
    """Return values with the dimensions of the points in front, broadcast to all that is written.

    In ``array[key]`` the points are where the indices are, or in front if these do not lie side by
    side.
    """
    side_by_side = list(indexed) == list(range(indexed[0], indexed[-1] + 1))
    first = indexed[0] if side_by_side else 0
    sizes = [array.shape[dim] for dim in rest]
    whole = da.broadcast_to(values, (*sizes[:first], *shape, *sizes[first:]))
    ahead = range(first, first + len(shape))
    others = [dim for dim in range(whole.ndim) if dim not in ahead]
    return whole.transpose([*ahead, *others]) if whole.ndim else whole


@dataclass(frozen=True)
class Scatter:
    """Writes, or adds, the elements of a source at indices along a dimension of a chunk."""

    dim: int
    length: int
    accumulate: bool
    in_parts: bool

    def __call__(self, array: Any, start: object, index: Any, source: Any) -> Any:
        """Return the chunk with the elements, or their sums with a dimension in front."""
        made = np.zeros_like(array) if self.in_parts else array.copy()
        here, own = inside(index, start, array.shape[self.dim], self.length)
        key = list(np.nonzero(here))
        key[self.dim] = own[here]
        values = np.broadcast_to(source, index.shape)[here]
        if self.accumulate:
            np.add.at(made, tuple(key), values)
        else:
            made[tuple(key)] = values
        return made[None] if self.in_parts else made


def scatter(array: Array, dim: int, index: Array, source: Any, accumulate: bool) -> Any:
    """Return a copy with the elements of `source`, an array or a number, at `index` along `dim`,
    or added there. `index` may be shorter than `array` in other dimensions.
    """
    region = tuple([_ALL if d == dim else slice(n) for d, n in enumerate(index.shape)])
    written = _scattered(array[region], dim, index, source, accumulate)
    for each in reversed(range(array.ndim)):
        if written.shape[each] < array.shape[each]:
            cut = [slice(n) for n in written.shape]
            cut[each] = slice(written.shape[each], None)
            written = da.concatenate([written, array[tuple(cut)]], axis=each)
    return written


def _scattered(array: Any, dim: int, index: Any, source: Any, accumulate: bool) -> Any:
    own = tuple(range(array.ndim))
    others = {each: array.chunks[each] for each in own if each != dim}
    index = index.rechunk(others)
    labels = (*own[:dim], "index", *own[dim + 1 :])
    values: tuple[Any, Any] = (source, None)
    if isinstance(source, da.Array) and source.ndim:
        values = (source.rechunk({**others, dim: index.chunks[dim]}), labels)
    elif isinstance(source, da.Array):
        values = (source, ())
    # Only sums may be taken apart: of several writes to one place the last counts.
    in_parts = accumulate and len(index.chunks[dim]) > 1
    made = on_blocks(
        Scatter(dim, array.shape[dim], accumulate, in_parts),
        Result(("index", *own) if in_parts else own, array.dtype, {}),
        *(array, own, starts(array, dim), (dim,), index, labels, *values),
        align=False,
        sizes={"index": 1} if in_parts else None,
    )
    return array + da.sum(made, axis=0, dtype=array.dtype, split_every=4) if in_parts else made
