"""Order along a short dimension in one launch: every element counts those that come before it.

A thread for each element reads its whole row, which beats sorting in several launches while rows
are short. Longer ones are sorted.
"""

from __future__ import annotations

import math
from typing import Any, Final

import cupy
import numpy as np

from dovetail_aten.families import Ordering, Selection
from dovetail_aten.kernel_support import Sorted, wrap_dim
from dovetail_aten.typing import Array

from ...kernel_support.device_code import WIDE

SHORT: Final = 1024
"""The most elements of a row that are ordered by counting."""

_CODE: Final = """
  typedef typename wide_of<T>::type W;
  const long long row = i / (inner * length) * length, at = i / inner % length, column = i % inner;
  const W own = x[(row + at) * inner + column];
  const bool is_nan = own != own;
  long long rank = 0;
  for (long long j = 0; j < length; j++) {
    const W other = x[(row + j) * inner + column];
    const bool other_is_nan = other != other;
    const bool equal = is_nan ? other_is_nan : own == other;
    const bool above = other_is_nan ? !is_nan : !is_nan && other > own;
    rank += equal ? j < at : above == descending;
  }
  if (rank < kept) {
    const long long to = (i / (inner * length) * kept + rank) * inner + column;
    places[to] = at;
    STORE
  }
"""
_SIZES: Final = "raw T x, int64 length, int64 inner, int64 kept, bool descending"
_order: Final = cupy.ElementwiseKernel(
    _SIZES, "raw int64 places", _CODE.replace("STORE", ""), "dovetail_order", preamble=WIDE
)
_ordered: Final = cupy.ElementwiseKernel(
    _SIZES,
    "raw int64 places, raw T values",
    _CODE.replace("STORE", "values[to] = x[(row + at) * inner + column];"),
    "dovetail_ordered",
    preamble=WIDE,
)


class CountedOrder(Sorted):
    """Stable orders, of short rows by counting."""

    def _order(self, x: Array, axis: int, descending: bool) -> Any:
        if not _is_short(x, axis):
            return Sorted._order(self, x, axis, descending)
        places = cupy.empty(x.shape, np.int64)
        _order(x, *_sizes(x, axis, x.shape[axis]), descending, places, size=x.size)
        return places


class FusedOrdering(CountedOrder, Ordering):
    """Sorting, and the greatest."""

    def sort(self, x: Array, dim: int = -1, descending: bool = False) -> tuple[Any, Any]:
        """Return the elements sorted along `dim`, and where they were. The sort is stable."""
        axis = wrap_dim(dim, x.ndim)
        if not x.ndim or not _is_short(x, axis):
            return Ordering.sort(self, x, dim, descending)
        return _first(x, axis, x.shape[axis], descending)

    def topk(
        self, x: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
    ) -> tuple[Any, Any]:
        """Return the `k` greatest, or least, elements along `dim` in order, and where they were."""
        axis = wrap_dim(dim, x.ndim)
        if not x.ndim or not 0 <= k <= x.shape[axis] or not _is_short(x, axis):
            return Ordering.topk(self, x, k, dim, largest, sorted)
        return _first(x, axis, k, largest)


class FusedSelection(CountedOrder, Selection):
    """Elements selected by their rank."""


def _first(x: Array, axis: int, kept: int, descending: bool) -> tuple[Any, Any]:
    shape = tuple([kept if d == axis else n for d, n in enumerate(x.shape)])
    values, places = cupy.empty(shape, x.dtype), cupy.empty(shape, np.int64)
    if kept:
        _ordered(x, *_sizes(x, axis, kept), descending, places, values, size=x.size)
    return values, places


def _is_short(x: Array, axis: int) -> bool:
    return bool(x.size) and x.shape[axis] <= SHORT and x.dtype.kind != "c"


def _sizes(x: Array, axis: int, kept: int) -> tuple[int, int, int]:
    return x.shape[axis], math.prod(x.shape[axis + 1 :]), kept
