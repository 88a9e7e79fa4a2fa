"""Picking elements by flat indices, triangles by remembered masks, sums of rows at indices without
a pass per row.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy

from dovetail_aten.families.indexing.kernels.indexing import Indexing
from dovetail_aten.families.indexing.kernels.indexing_along import IndexingAlong
from dovetail_aten.families.reductions.kernels.ordering import Ordering
from dovetail_aten.kernel_support import Function, wrap_dim
from dovetail_aten.kernel_support.family import never_warns
from dovetail_kernel import contiguous_format

from .accumulation import add_at, gathered, scatter_into
from .fast_joining import FastJoining
from .flat_places import FlatPlaces
from .half_precision import MANY, converted
from .packed_order import PackedOrder
from .sums_of_rows import add_rows
from .top import top_of_rows

_FLOATS = (numpy.dtype(numpy.float32), numpy.dtype(numpy.float64))
_ALL = slice(None)
_LONG = numpy.dtype(numpy.int64)
_add = numpy.add
_MASKS_UP_TO = 1 << 16
_STRIP = 64
"""Rows of a large triangle that are copied at a time."""
_FEW = 1 << 12
"""Elements up to which it is worth keeping where lines begin."""
_FEW_ADDED = 1 << 8
"""Elements that cost less one by one."""
_FEW_COLUMNS = 16
_PARTITIONED_FROM = 64
"""Length from which topk does not sort what it leaves out."""


def _offsets(shape: tuple[int, ...]) -> Any:
    """Return where the lines along the last dimension begin."""
    return numpy.arange(0, prod(shape), shape[-1]).reshape(*shape[:-1], 1)


_kept_offsets = lru_cache(64)(_offsets)


def pick(array: Any, indices: Any) -> Any:
    """Return the elements at `indices` along the last dimension; the leading dimensions agree."""
    if array.ndim == 1:
        return array.take(indices)
    offsets = (_kept_offsets if array.size <= _FEW else _offsets)(array.shape)
    # take has the elements in C order whatever their order in memory.
    return array.take(_add(indices, offsets))


class FastIndexing(FlatPlaces, IndexingAlong):
    """Elements at flat indices, and sums of rows."""

    @never_warns
    def gather(self, x: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
        """Return the elements at `index` along `dim` by flat indices."""
        axis = self._axis_of_places(x, dim, index)
        if axis is None and x.ndim and index.size <= _FEW and x.size <= _FEW:
            # Few elements are copied in less time than NumPy's function of Python's takes.
            contiguous = self.capabilities.contiguous
            x, index = contiguous(x), contiguous(index)
            axis = self._axis_of_places(x, dim, index)
        if axis is None:
            return IndexingAlong.gather(self, x, dim, index)
        return gathered(x, axis, index)

    def _scattered(
        self, name: str, x: Any, dim: int, index: Any, source: Any, accumulate: bool
    ) -> Any:
        """Return a copy with the elements of `source` at `index` along `dim`, or added there."""
        axis = self._axis_of_places(x, dim, index)
        values = None if axis is None else self._source_at(x, index, source)
        if axis is None or values is None:
            return IndexingAlong._scattered(self, name, x, dim, index, source, accumulate)
        made = numpy.array(x)
        scatter_into(made, axis, index, values, add_at if accumulate else None)
        return made

    def index_add(self, x: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
        """Return a copy with rows added at `index`, without a pass for each row."""
        if (
            alpha != 1
            or not source.size
            or x.ndim < 2
            or wrap_dim(dim, x.ndim)
            or x.dtype not in _FLOATS
            or x.dtype != source.dtype
            or index.ndim != 1
            or index.dtype != _LONG
            or source.shape != (index.size, *x.shape[1:])
            or not x.flags.c_contiguous
            or not self.capabilities.are_below(index, len(x))
        ):
            return IndexingAlong.index_add(self, x, dim, index, source, alpha=alpha)
        result = x.copy()
        if source.size <= _FEW_ADDED:
            numpy.add.at(result, index, source)
        elif x.size < len(x) * _FEW_COLUMNS or index.size < _FEW_COLUMNS:
            return IndexingAlong.index_add(self, x, dim, index, source, alpha=alpha)
        else:
            add_rows(result.reshape(len(x), -1), index, source.reshape(len(index), -1))
        return result

    def _sums_of_rows(self, shape: tuple[int, ...], index: Any, rows: Any) -> Any:
        """Return a matrix of zeros with rows added at `index`, without a pass for each row."""
        if rows.dtype not in _FLOATS or shape[1] < _FEW_COLUMNS:
            return IndexingAlong._sums_of_rows(self, shape, index, rows)
        result = numpy.zeros(shape, rows.dtype)
        add_rows(result, index, rows)
        return result


class FastGathering(Indexing):
    """Elements at indices."""

    @never_warns
    def index(self, x: Any, indices: Sequence[Any]) -> Any:
        """Return the elements at `indices`; slices at one index, of any dimension, without a
        key.
        """
        places = [each for each in indices if each is not None]
        if not places or len(indices) > x.ndim:
            return Indexing.index(self, x, indices)
        for each in places:
            if each.dtype is not _LONG:
                return Indexing.index(self, x, indices)
        try:
            if (
                len(places) == 1
                and x.size
                and x.flags.c_contiguous
                and places[0].flags.c_contiguous
            ):
                axis = 0
                while indices[axis] is None:
                    axis += 1
                return x.take(places[0], axis)
            key = tuple([_ALL if each is None else each for each in indices])
            found = x[key]
        except (IndexError, ValueError) as error:
            raise self._worded(error, tuple(places)) from None
        return self._laid_out(found, x, key) if found.ndim > 1 else found


class FastOrdering(PackedOrder, Ordering):
    """Order along the last dimension."""

    def sort(self, x: Any, dim: int = -1, descending: bool = False) -> tuple[Any, Any]:
        """Return the elements sorted along the last dimension, picked by flat indices, and where
        they were.
        """
        if not x.size or not x.ndim or wrap_dim(dim, x.ndim) != x.ndim - 1:
            values, indices = Ordering.sort(self, x, dim, descending)
            return values, indices
        indices = self._order(x, x.ndim - 1, descending)
        return pick(x, indices), indices

    def topk(
        self, x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
    ) -> tuple[Any, Any]:
        """Return the `k` greatest, or least, elements along the last dimension, found without
        sorting all.
        """
        if (
            not x.size
            or not x.ndim
            or wrap_dim(dim, x.ndim) != x.ndim - 1
            or not 0 <= k <= x.shape[-1]
        ):
            values, indices = Ordering.topk(self, x, k, dim, largest, sorted)
            return values, indices
        length, last = x.shape[-1], x.ndim - 1
        if length < _PARTITIONED_FROM or k * 4 > length or k == 0:
            indices = self._order(x, last, largest)[..., :k].copy()
            return pick(x, indices), indices
        if x.dtype in _FLOATS:
            rows = numpy.ascontiguousarray(x).reshape(-1, length)
            found = top_of_rows(rows, k, largest)
            if found is not None:
                shape = (*x.shape[:-1], k)
                return found[0].reshape(shape), found[1].reshape(shape)
        keys = self._sortable(x)
        candidates = keys.argpartition(length - k if largest else k - 1, -1)
        candidates = numpy.sort(
            candidates[..., length - k :] if largest else candidates[..., :k], -1
        )
        indices = pick(candidates, self._order(pick(keys, candidates), last, largest))
        return pick(x, indices), indices


@lru_cache(64)
def _outside(name: str, rows: int, columns: int, diagonal: int) -> Any:
    """Return where a triangle is not."""
    inside = numpy.tri(rows, columns, diagonal if name == "tril" else diagonal - 1, bool)
    return ~inside if name == "tril" else inside


def _large_triangle(name: str, x: Any, diagonal: int) -> Any:
    """Return a triangle strip by strip: all but a square of each strip is copied or left out."""
    made = numpy.zeros(x.shape, x.dtype)
    rows, columns = x.shape[-2:]
    for start in range(0, rows, _STRIP):
        stop = min(start + _STRIP, rows)
        # Between these columns the diagonal runs through the strip.
        first = min(max(start + diagonal, 0), columns)
        last = min(max(stop + diagonal, 0), columns)
        strip, source = made[..., start:stop, :], x[..., start:stop, :]
        whole = slice(0, first) if name == "tril" else slice(last, columns)
        strip[..., whole] = source[..., whole]
        if last > first:
            outside = _outside(name, stop - start, last - first, diagonal + start - first)
            part = source[..., first:last].copy()
            part[..., outside] = 0
            strip[..., first:last] = part
    return made


class FastShapes(FastJoining):
    """Triangles by remembered masks, or strips; large transposed arrays copied in strips; half
    precision by its bits.
    """

    def _arranged(self, array: Any, memory_format: Any) -> Any:
        """Return a new array in the memory order of a format."""
        if memory_format is contiguous_format and array.flags.fnc:
            return self.capabilities.contiguous(array)
        return FastJoining._arranged(self, array, memory_format)

    def _converted(self, x: Any, dtype: Any) -> Any:
        """Return a copy in another dtype."""
        made = converted(x, dtype) if x.size >= MANY else None
        return x.astype(dtype) if made is None else made

    def _with_zeros(self, name: str, compare: Function, x: Any, diagonal: int) -> Any:
        """Return a triangle of matrices, by a mask that is kept or strip by strip."""
        if x.shape[-1] * x.shape[-2] > _MASKS_UP_TO:
            return _large_triangle(name, x, diagonal)
        result = x.copy()
        outside = _outside(name, *x.shape[-2:], diagonal)
        numpy.copyto(result, self.numbers.like(x, 0), where=outside)
        return result
