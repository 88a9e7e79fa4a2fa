"""Order along the last dimension, by keys that are sorted, or by parts of rows."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy
import numpy as np

from dovetail_aten.families import Ordering
from dovetail_aten.kernel_support import wrap_dim

from ..functions.packed_order import PackedOrder
from ..functions.top import top_of_rows

_FLOATS = (numpy.dtype(numpy.float32), numpy.dtype(numpy.float64))
_add = numpy.add
_FEW = 1 << 12
"""Elements up to which it is worth keeping where lines begin."""
_PARTITIONED_FROM = 64
"""Length from which topk does not sort what it leaves out."""


def _offsets(shape: tuple[int, ...]) -> Any:
    """Return where the lines along the last dimension begin."""
    return numpy.arange(0, prod(shape), shape[-1]).reshape(*shape[:-1], 1)


_kept_offsets = lru_cache(64)(_offsets)


def pick(array: np.ndarray, indices: np.ndarray) -> Any:
    """Return the elements at `indices` along the last dimension; the leading dimensions agree."""
    if array.ndim == 1:
        return array.take(indices)
    offsets = (_kept_offsets if array.size <= _FEW else _offsets)(array.shape)
    # take has the elements in C order whatever their order in memory.
    return array.take(_add(indices, offsets))


class FastOrdering(PackedOrder, Ordering):
    """Order along the last dimension."""

    def sort(self, x: np.ndarray, dim: int = -1, descending: bool = False) -> tuple[Any, Any]:
        """Return the elements sorted along the last dimension, picked by flat indices, and where
        they were.
        """
        if not x.size or not x.ndim or wrap_dim(dim, x.ndim) != x.ndim - 1:
            values, indices = Ordering.sort(self, x, dim, descending)
            return values, indices
        indices = self._order(x, x.ndim - 1, descending)
        return pick(x, indices), indices

    def topk(
        self, x: np.ndarray, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
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
