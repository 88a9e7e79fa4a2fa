"""Numbers that are proposed until one is accepted, in PyTorch's order of draws: Poisson, binomial
and gamma.

How many uniform numbers an element takes depends on the elements before it, so they are drawn one
after another. `dovetail.Generator(bit_generator="PCG64")` draws whole arrays at once. This is the
reference of the functions that are compiled, as in `plain_draws`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from math import ceil, cos, exp, floor, inf, isnan, lgamma, log, log1p, pi, sin, sqrt
from typing import Any, Final, NamedTuple

import numpy as np

from dovetail_dispatcher.sockets import COMPILED_OPERATOR

from . import plain_draws

Array = np.ndarray[Any, Any]
Size = tuple[int, ...]

_MOST: Final = 1 << 14
_THIRD: Final = 11184811 / 33554432
"""PyTorch has it in single precision."""


class _Stream:
    """Uniform doubles one by one, made many at once; `close` gives back those that are left."""

    def __init__(self, bits: Any, expected: int, kept: float | None) -> None:
        self.kept = kept
        self._bits, self._expected = bits, expected
        self._start = bits.state
        self._count = 0
        self.uniform = self._made().__next__

    def _made(self) -> Iterator[float]:
        size = min(max(16, self._expected), _MOST)
        while True:
            for number in plain_draws.uniform(self._bits, (size,), True, 0.0, 1.0).tolist():
                self._count += 1
                yield number

    def normal(self) -> float:
        """Return a normal number; the second of a pair is kept."""
        kept = self.kept
        if kept is not None:
            self.kept = None
            return kept
        angle = 2 * pi * self.uniform()
        radius = sqrt(-2 * log1p(-self.uniform()))
        self.kept = radius * sin(angle)
        return radius * cos(angle)

    def close(self) -> None:
        """Leave the generator where the last number was drawn."""
        self._bits.state = self._start
        self._bits.random_raw(2 * self._count, output=False)


def poisson(bits: Any, size: Size, rates: Array) -> Array:
    """Return numbers of the Poisson distribution for rates in float64."""
    return _each(_Stream(bits, 2 * rates.size, None), _poisson, rates)


def binomial(bits: Any, size: Size, counts: Array, chances: Array) -> Array:
    """Return how many trials succeed, for counts and chances in float64."""
    return _each(_Stream(bits, 2 * counts.size, None), _binomial, counts, chances)


def gamma(bits: Any, size: Size, alphas: Array, kept: float | None) -> tuple[Array, float | None]:
    """Return numbers of the standard gamma distribution for parameters in float64, and the new
    `kept`: the second normal number of a pair that was not drawn.
    """
    draws = _Stream(bits, 2 * alphas.size, kept)
    return _each(draws, _gamma, alphas), draws.kept


def _each(draws: _Stream, draw: Callable[..., float], *parameters: Array) -> Array:
    """Return a number that ``draw(draws, *numbers)`` returns for every element of arrays."""
    numbers = [each.reshape(-1).tolist() for each in parameters]
    try:
        made = [draw(draws, *row) for row in zip(*numbers, strict=True)]
    finally:
        draws.close()
    return np.array(made, np.float64).reshape(parameters[0].shape)


def _poisson(draws: _Stream, rate: float) -> float:
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


def _binomial(draws: _Stream, count: float, chance: float) -> float:
    """Return how many of `count` trials succeed: by the gaps between successes, or where at least
    10 are expected by transformed rejection (Hörmann 1993, doi:10.1080/00949659308811496).
    """
    if isnan(chance) or isnan(count):
        return chance + count
    if count <= 0 or chance <= 0:
        return 0.0
    if chance >= 1 or count == inf:
        return count
    if chance > 0.5:
        return count - _rare(draws, count, 1 - chance)
    return _rare(draws, count, chance)


def _rare(draws: _Stream, count: float, chance: float) -> float:
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


def _transformed_binomial(draws: _Stream, count: float, chance: float) -> float:
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


def _gamma(draws: _Stream, alpha: float) -> float:
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


class Rejections(NamedTuple):
    """The functions of this module."""

    poisson: Callable[..., Array] = poisson
    binomial: Callable[..., Array] = binomial
    gamma: Callable[..., tuple[Array, float | None]] = gamma


@cache
def compiled_rejections() -> Rejections:
    """Return the functions, compiled where there is compiled code."""
    plug = COMPILED_OPERATOR.plug
    return Rejections(*[plug(f"random.{each.__name__}", each) for each in Rejections()])
