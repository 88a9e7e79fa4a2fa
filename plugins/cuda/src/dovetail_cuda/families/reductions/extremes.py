"""Places of the greatest and least elements: of NaN and of equal ones the first, where CuPy has
any.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Final

import cupy
import numpy as np

from dovetail_aten.families import Reductions
from dovetail_aten.typing import Array

from ...kernel_support.device_code import by_rows, launch

_CODE: Final = """
__device__ inline void take(W* best, long long* place, W value, long long at, long long none) {
  if (at == none) return;
  const bool was_nan = *best != *best, is_nan = value != value, before = at < *place;
  const bool better = is_nan ? !was_nan || before
                             : !was_nan && (value BEYOND *best || (value == *best && before));
  if (*place == none || better) {
    *best = value;
    *place = at;
  }
}
extern "C" __global__ void dovetail_NAME(
    const T* x, long long* out, const long long length, const long long step) {
  const long long first = blockIdx.x / step * length * step + blockIdx.x % step;
  __shared__ W values[THREADS];
  __shared__ long long places[THREADS];
  W best = 0;
  long long place = length;
  for (long long i = threadIdx.x; i < length; i += THREADS)
    take(&best, &place, (W)x[first + i * step], i, length);
  values[threadIdx.x] = best;
  places[threadIdx.x] = place;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      take(&values[threadIdx.x], &places[threadIdx.x], values[threadIdx.x + half],
           places[threadIdx.x + half], length);
  }
  if (threadIdx.x == 0) out[blockIdx.x] = places[0];
}
"""
_BEYOND: Final = {"argmax": ">", "argmin": "<"}


class FirstPlaces(Reductions):
    """Places of extrema."""

    def argmax(self, x: Array, dim: int | None = None, keepdim: bool = False) -> Any:
        """Return the place of the first greatest element along `dim`, by default of all."""
        return self._place("argmax", partial(self._first, "argmax"), x, dim, keepdim)

    def argmin(self, x: Array, dim: int | None = None, keepdim: bool = False) -> Any:
        """Return the place of the first least element along `dim`, by default of all."""
        return self._place("argmin", partial(self._first, "argmin"), x, dim, keepdim)

    def max_along(self, x: Array, dim: int, keepdim: bool = False) -> tuple[Any, Any]:
        """Return the greatest elements along `dim`, and their places."""
        return self._extremum_along("max", partial(self._first, "argmax"), x, dim, keepdim)

    def min_along(self, x: Array, dim: int, keepdim: bool = False) -> tuple[Any, Any]:
        """Return the least elements along `dim`, and their places."""
        return self._extremum_along("min", partial(self._first, "argmin"), x, dim, keepdim)

    def _first(self, name: str, x: Array, axis: int) -> Any:
        """Return the first places along an axis."""
        if x.dtype not in self.precision.real_floats:
            return getattr(self.xp, name)(x, axis=axis)  # integers have no NaN
        shape = x.shape[:axis] + x.shape[axis + 1 :]
        made = cupy.empty(shape, np.int64)
        code = _CODE.replace("NAME", name).replace("BEYOND", _BEYOND[name])
        step = np.int64(math.prod(x.shape[axis + 1 :]))
        given = self.capabilities.contiguous(x)
        launch(by_rows(name, x.dtype, code), made.size, given, made, np.int64(x.shape[axis]), step)
        return made
