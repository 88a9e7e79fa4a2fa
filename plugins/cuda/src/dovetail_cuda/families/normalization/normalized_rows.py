"""What the kernels of layer and group normalization share: a block of threads normalizes a row."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dovetail_aten.kernel_support import Family
from dovetail_aten.typing import Array

NOTHING: Final = np.uintp(0)
"""The null pointer, for an array that is not given."""

_FORWARD: Final = """
extern "C" __global__ void dovetail_NAME(
    const T* x, const T* weight, const T* bias, T* out, T* means, T* rstds, SIZES,
    const double eps) {
  PLACE
  const long long first = blockIdx.x * length;
  W sum = 0;
  for (long long i = threadIdx.x; i < length; i += THREADS) sum += (W)x[first + i];
  const W mean = across_block<add_of>(sum) / length;
  W squares = 0;
  for (long long i = threadIdx.x; i < length; i += THREADS) {
    const W away = (W)x[first + i] - mean;
    squares += away * away;
  }
  const W rstd = 1 / sqrt(across_block<add_of>(squares) / length + (W)eps);
  for (long long i = threadIdx.x; i < length; i += THREADS) {
    W value = ((W)x[first + i] - mean) * rstd;
    if (weight) value *= (W)weight[AT];
    if (bias) value += (W)bias[AT];
    out[first + i] = (T)value;
  }
  if (threadIdx.x == 0) {
    means[blockIdx.x] = (T)mean;
    rstds[blockIdx.x] = (T)rstd;
  }
}
"""
_TO_INPUT: Final = """
extern "C" __global__ void dovetail_NAME_to_input(
    const T* grad, const T* x, const T* means, const T* rstds, const T* weight, T* out, SIZES) {
  PLACE
  const long long first = blockIdx.x * length;
  const W mean = (W)means[blockIdx.x], rstd = (W)rstds[blockIdx.x];
  W total = 0, along = 0;
  for (long long i = threadIdx.x; i < length; i += THREADS) {
    const W g = (W)grad[first + i] * (weight ? (W)weight[AT] : (W)1);
    total += g;
    along += g * ((W)x[first + i] - mean) * rstd;
  }
  total = across_block<add_of>(total) / length;
  along = across_block<add_of>(along) / length;
  for (long long i = threadIdx.x; i < length; i += THREADS) {
    const W g = (W)grad[first + i] * (weight ? (W)weight[AT] : (W)1);
    out[first + i] = (T)((g - total - ((W)x[first + i] - mean) * rstd * along) * rstd);
  }
}
"""


def codes(name: str, sizes: str, place: str, at: str) -> tuple[str, str]:
    """Return the code of the kernels `name`, forward and to the input.

    Parameters
    ----------
    sizes
        Their last parameters, from which ``length`` is known.
    place
        What is computed of these first.
    at
        Where the weight of the element ``i`` of a row is.
    """
    words = {"NAME": name, "SIZES": sizes, "PLACE": place, "AT": at}
    made = []
    for code in (_FORWARD, _TO_INPUT):
        for word, text in words.items():
            code = code.replace(word, text)
        made.append(code)
    return made[0], made[1]


class OfOneDtype(Family):
    """Kernels of arrays that have one dtype of real floats."""

    def _are_plain(self, x: Array, *others: Any) -> bool:
        dtypes = {each.dtype for each in others if each is not None}
        return bool(x.size) and x.dtype in self.precision.real_floats and dtypes <= {x.dtype}
