"""Numbers of the Poisson and binomial distributions, by rejection on the device.

For small means by multiplying or adding up probabilities, for great ones by the transformed
rejection of Hörmann (1993, *The transformed rejection method for generating Poisson random
variables* and *The generation of binomial random variates*).
"""

from __future__ import annotations

from typing import Any, Final

import cupy

from dovetail_aten.families import Distributions
from dovetail_aten.typing import Array

from ...kernel_support.device_code import WIDE
from ...kernel_support.philox import DEVICE_CODE

_STREAM: Final = """
// As many numbers of (0, 1) as an element needs: two of each 128 bits.
struct stream {
  unsigned long long seed, draw, place, turn;
  double spare;
  bool has_spare;
  __device__ double next() {
    if (has_spare) {
      has_spare = false;
      return spare;
    }
    const philox_bits r = philox(seed, draw | turn++ << 40, place);
    spare = uniform_double(r.z, r.w) + 5e-17;
    has_spare = true;
    return uniform_double(r.x, r.y) + 5e-17;
  }
};

__device__ double poisson_number(stream& s, double mean) {
  if (!(mean > 0)) return 0;
  if (mean < 10) {
    const double limit = exp(-mean);
    double product = s.next();
    double count = 0;
    for (; product > limit; count += 1) product *= s.next();
    return count;
  }
  const double root = sqrt(mean), b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
  const double scale = 1.1239 + 1.1328 / (b - 3.4), within = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = s.next() - 0.5, v = s.next(), away = 0.5 - fabs(u);
    const double k = floor((2 * a / away + b) * u + mean + 0.43);
    if (away >= 0.07 && v <= within) return k;
    if (k < 0 || (away < 0.013 && v > away)) continue;
    if (log(v * scale / (a / (away * away) + b)) <= k * log(mean) - mean - lgamma(k + 1)) return k;
  }
}

__device__ double binomial_number(stream& s, double n, double chance) {
  if (!(n > 0) || !(chance > 0)) return 0;
  if (chance >= 1) return n;
  const double p = chance < 0.5 ? chance : 1 - chance, q = 1 - p, odds = p / q;
  double k = 0;
  if (n * p < 10) {
    double u = s.next(), share = exp(n * log1p(-p));
    while (u > share && k < n) {
      u -= share;
      k += 1;
      share *= ((n + 1) / k - 1) * odds;
    }
  } else {
    const double root = sqrt(n * p * q), b = 1.15 + 2.53 * root;
    const double a = -0.0873 + 0.0248 * b + 0.01 * p, within = 0.92 - 4.2 / b;
    const double alpha = (2.83 + 5.1 / b) * root, mode = floor((n + 1) * p);
    const double top = lgamma(mode + 1) + lgamma(n - mode + 1);
    for (;;) {
      const double u = s.next() - 0.5, v = s.next(), away = 0.5 - fabs(u);
      k = floor((2 * a / away + b) * u + n * p + 0.5);
      if (away >= 0.07 && v <= within) break;
      if (k < 0 || k > n) continue;
      const double ratio = top - lgamma(k + 1) - lgamma(n - k + 1) + (k - mode) * log(odds);
      if (log(v * alpha / (a / (away * away) + b)) <= ratio) break;
    }
  }
  return chance < 0.5 ? k : n - k;
}
"""
_BEFORE: Final = WIDE + DEVICE_CODE + _STREAM
_START: Final = "stream s = {seed, draw, (unsigned long long)i, 0, 0, false};"
_poisson = cupy.ElementwiseKernel(
    "T mean, uint64 seed, uint64 draw",
    "T out",
    f"{_START} out = (T)poisson_number(s, (double)WIDE(mean));",
    "dovetail_poisson",
    preamble=_BEFORE,
)
_binomial = cupy.ElementwiseKernel(
    "T count, T prob, uint64 seed, uint64 draw",
    "T out",
    f"{_START} out = (T)binomial_number(s, (double)WIDE(count), (double)WIDE(prob));",
    "dovetail_binomial",
    preamble=_BEFORE,
)


class CountedNumbers(Distributions):
    """Numbers of events."""

    def poisson(self, x: Array, generator: object = None) -> Any:
        """Return numbers of the Poisson distribution with the rates `x`."""
        self._check_rates(x)
        return _poisson(x, *self._draw(generator))

    def binomial(self, count: object, prob: object, generator: object = None) -> Any:
        """Return how many of `count` trials succeed, each with probability `prob`."""
        self._check_trials(count, prob)
        return _binomial(count, prob, *self._draw(generator))

    def _draw(self, generator: object) -> Any:
        arrays: Any = self.capabilities
        return arrays.source(generator).draw()
