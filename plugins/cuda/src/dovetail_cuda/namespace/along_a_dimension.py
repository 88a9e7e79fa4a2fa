"""Elements taken from and written to indices along one dimension, one launch each: the thread of an
index finds the place of its element itself, where CuPy's functions make an array of places for
every dimension.
"""

from __future__ import annotations

from typing import Any, Final

import cupy
import numpy as np

from dovetail_aten.typing import Array

_PLACE: Final = """
  ptrdiff_t place[_ind.ndim];
  for (int each = 0; each < _ind.ndim; each++) place[each] = _ind.get()[each];
  ptrdiff_t at = (ptrdiff_t)index % (ptrdiff_t)size;
  place[axis] = at < 0 ? at + size : at;
"""
"""An index out of range wraps: who found it reports it."""
_PARAMETERS: Final = "I index, int32 axis, int64 size"

_take: Final = cupy.ElementwiseKernel(
    f"{_PARAMETERS}, raw T x",
    "T y",
    f"{_PLACE} y = x[place];",
    "dovetail_take_along",
    reduce_dims=False,
)
_put: Final = cupy.ElementwiseKernel(
    f"{_PARAMETERS}, T value",
    "raw T y",
    f"{_PLACE} y[place] = value;",
    "dovetail_put_along",
    reduce_dims=False,
)
_add: Final = cupy.ElementwiseKernel(
    f"{_PARAMETERS}, T value",
    "raw T y",
    f"{_PLACE} atomicAdd(&y[place], value);",
    "dovetail_add_along",
    reduce_dims=False,
)
ADDED: Final = frozenset(
    np.dtype(each) for each in ("float16", "float32", "float64", "int32", "uint32", "uint64")
)
"""What the device adds in one step, so that no addition is lost."""


def take_along_axis(x: Array, index: Array, axis: int) -> Any:
    """Return the elements of `x` at `index` along `axis`, at the same place in all other
    dimensions; these are broadcast.
    """
    axis %= x.ndim
    others = (*x.shape[:axis], *x.shape[axis + 1 :])
    if others != (*index.shape[:axis], *index.shape[axis + 1 :]):
        return cupy.take_along_axis(x, index, axis)
    if not index.size:
        return cupy.empty(index.shape, x.dtype)
    return _take(index, axis, x.shape[axis], x)


def put_along_axis(y: Array, index: Array, values: Array, axis: int, *, add: bool = False) -> None:
    """Write `values`, broadcast to the shape of `index`, into `y` at `index` along `axis`, or add
    them there: to the dtypes of `ADDED`.
    """
    if index.size:
        (_add if add else _put)(index, axis, y.shape[axis], values, y)
