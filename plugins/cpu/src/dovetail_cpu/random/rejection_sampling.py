"""Numbers that are proposed until one is accepted, in PyTorch's order of draws: Poisson, binomial
and gamma.

How many uniform numbers an element takes depends on the elements before it, so they are drawn one
after another. `dovetail.Generator(bit_generator="PCG64")` draws whole arrays at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, cos, exp, floor, inf, isnan, lgamma, log, log1p, pi, sin, sqrt
from typing import Any, Final

import numpy as np

from .drawn_numbers import doubles
from .mersenne_twister import MersenneTwister

Array = np.ndarray[Any, Any]

_MOST: Final = 1 << 14
_THIRD: Final = 11184811 / 33554432
"""PyTorch has it in single precision."""


class Draws:
    """Uniform doubles one by one, made many at once; `close` gives back those that are left."""

    def __init__(self, source: MersenneTwister, expected: int) -> None:
        self._source, self._expected = source, expected
        self._start = source.position()
        self._count = 0
        self.uniform = self._made().__next__

    def _made(self) -> Iterator[float]:
        size = min(max(16, self._expected), _MOST)
        while True:
            for number in doubles(self._source, (size,)).tolist():
                self._count += 1
                yield number

    def normal(self) -> float:
        """Return a normal number; the second of a pair is kept."""
        kept = self._source.kept
        if kept is not None:
            self._source.kept = None
            return kept
        angle = 2 * pi * self.uniform()
        radius = sqrt(-2 * log1p(-self.uniform()))
        self._source.kept = radius * sin(angle)
        return radius * cos(angle)

    def close(self) -> None:
        """Leave the source where the last number was drawn."""
        self._source.go_to(*self._start)
        self._source.bits.random_raw(2 * self._count, output=False)


def poisson(draws: Draws, rate: float) -> float:
    """Return a number of the Poisson distribution: by products of uniform numbers (Knuth), or from
    a rate of 10 on by transformed rejection (Hörmann 1993, doi:10.1016/0167-6687(93)90997-4).
    """
    uniform = draws.uniform
    if not 0 < rate < inf:
        return rate if isnan(rate) or rate > 0 else 0.0
    if rate < 10:
        end, product, count = exp(-rate), uniform(), 0
        while product > end:
            product *= uniform()
            count += 1
        return float(count)
    log_rate = log(rate)
    b = 0.931 + 2.53 * sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = uniform() - 0.5, uniform()
        us = 0.5 - abs(u)
        k = floor((2 * a / us + b) * u + rate + 0.43) if us else -1
        if us >= 0.07 and v <= v_r:
            return float(k)
        if k < 0 or (us < 0.013 and v > us):
            continue
        bound = -rate + k * log_rate - lgamma(k + 1)
        if v == 0 or log(v) + log(inverse_alpha) - log(a / (us * us) + b) <= bound:
            return float(k)


def binomial(draws: Draws, count: float, chance: float) -> float:
    """Return how many of `count` trials succeed: by the gaps between successes, or where at least
    10 are expected by transformed rejection (Hörmann 1993, doi:10.1080/00949659308811496).
    """
    if isnan(chance) or isnan(count):
        return chance + count
    if count <= 0 or chance <= 0:
        return 0.0
    if chance >= 1:
        return count
    if chance > 0.5:
        return count - _rare(draws, count, 1 - chance)
    return _rare(draws, count, chance)


def _rare(draws: Draws, count: float, chance: float) -> float:
    """Return a binomial number for a chance of at most a half."""
    if count * chance >= 10:
        return _transformed_binomial(draws, count, chance)
    passed, found, rate = 0.0, 0, log1p(-chance)
    while True:
        drawn = draws.uniform()
        passed += ceil(log(drawn) / rate) if drawn else count + 1
        if passed > count:
            return float(found)
        found += 1


def _transformed_binomial(draws: Draws, count: float, chance: float) -> float:
    uniform = draws.uniform
    deviation = sqrt(count * chance * (1 - chance))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * chance
    c = count * chance + 0.5
    v_r = 0.92 - 4.2 / b
    ratio = chance / (1 - chance)
    alpha = (2.83 + 5.1 / b) * deviation
    m = floor((count + 1) * chance)
    while True:
        u, v = uniform() - 0.5, uniform()
        us = 0.5 - abs(u)
        k = floor((2 * a / us + b) * u + c) if us else -1
        if us >= 0.07 and v <= v_r:
            return float(k)
        if k < 0 or k > count:
            continue
        bound = (
            (m + 0.5) * log((m + 1) / (ratio * (count - m + 1)))
            + (count + 1) * log((count - m + 1) / (count - k + 1))
            + (k + 0.5) * log(ratio * (count - k + 1) / (k + 1))
            + _stirling(m)
            + _stirling(count - m)
            - _stirling(k)
            - _stirling(count - k)
        )
        if v == 0 or log(v * alpha / (a / (us * us) + b)) <= bound:
            return float(k)


def _stirling(k: float) -> float:
    """Return what Stirling's formula lacks of ``log(k!)``."""
    if k < 10:
        return lgamma(k + 1) - ((k + 0.5) * log(k + 1) - (k + 1) + 0.9189385332046727)
    square = (k + 1) ** 2
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)


def gamma(draws: Draws, alpha: float) -> float:
    """Return a number of the standard gamma distribution (Marsaglia and Tsang 2000,
    doi:10.1145/358407.358414).
    """
    uniform, scale = draws.uniform, 1.0
    if alpha < 1:
        if alpha == 0:
            return 0.0
        scale = (1 - uniform()) ** (1 / alpha)
        alpha += 1
    d = alpha - _THIRD
    c = 1 / sqrt(9 * d)
    while True:
        x = draws.normal()
        y = 1 + c * x
        if y <= 0:
            continue
        v = y * y * y
        u = 1 - uniform()
        square = x * x
        if u < 1 - 0.0331 * square * square or log(u) < 0.5 * square + d * (1 - v + log(v)):
            return scale * d * v
