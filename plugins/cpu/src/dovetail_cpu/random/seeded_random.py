"""Random kernels that draw PyTorch's numbers from a Mersenne Twister."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail_aten.families import Distributions, GammaNumbers, Random
from dovetail_aten.kernel_support import Capabilities, KernelTable, broadcast_shapes
from dovetail_aten.typing import Namespace

from .drawn_numbers import doubles, exponential, narrowed
from .rejection_sampling import compiled_rejections
from .seeded_drawing import SeededDrawing, numbers_for

Array = np.ndarray[Any, Any]


class SeededRandom(Random, SeededDrawing):
    """Random numbers, and choices by them."""

    def __init__(
        self, xp: Namespace, capabilities: Capabilities, table: KernelTable | None = None
    ) -> None:
        super().__init__(xp, capabilities, table)
        self._first = capabilities.compiled("topk", _least)

    def multinomial(
        self, x: Array, num_samples: int, replacement: bool = False, *, generator: object = None
    ) -> Any:
        """Return indices drawn with the weights of every row: by the order of exponential arrival
        times, or with replacement from the cumulative sums.
        """
        source = self.twister(generator)
        if source is None:
            return super().multinomial(x, num_samples, replacement, generator=generator)
        self._check_distribution(x, num_samples, replacement)
        if not x.size:  # no rows
            return np.zeros((*x.shape[:-1], num_samples), np.int64)
        if not replacement or num_samples == 1:
            times = numbers_for(x, exponential, source, x.dtype, 1.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                return self._first(-(x / times), num_samples, -1, False)[1]
        rows = self.precision.wide(x).reshape(-1, x.shape[-1]).cumsum(1)
        # The last edge becomes 1, which no number reaches.
        np.divide(rows, rows[:, -1:].copy(), rows)
        drawn = doubles(source, (len(rows), num_samples))
        return _edges_below(rows, drawn).reshape(*x.shape[:-1], num_samples)

    def slopes_of_rrelu(
        self, x: Array, lower: float, upper: float, generator: object = None
    ) -> Any:
        """Return a slope for every element that is not positive, and 1 for the others."""
        source = self.twister(generator)
        if source is None:
            return super().slopes_of_rrelu(x, lower, upper, generator)
        wide = np.float64 if x.dtype == np.float64 else np.float32
        low, high = float(wide(lower)), float(wide(upper))
        bent = x.reshape(-1) <= 0
        slopes = np.ones(x.size)
        slopes[bent] = doubles(source, (int(np.count_nonzero(bent)),)) * (high - low) + low
        return narrowed(slopes, x.dtype).reshape(x.shape)


def _least(x: Array, k: int, dim: int, largest: bool) -> tuple[Array, Array]:
    """Return the `k` least elements of every row in order, and their indices."""
    order = np.ascontiguousarray(np.argsort(x, axis=dim, kind="stable")[..., :k])
    return np.take_along_axis(x, order, axis=dim), order


def _edges_below(rows: Array, numbers: Array) -> Array:
    """Return for rows of numbers how many of the rising edges in the same row are below each."""
    rows = rows.astype(np.float64, copy=False)
    found = [row.searchsorted(some) for row, some in zip(rows, numbers, strict=True)]
    return np.array(found, np.int64)


class SeededDistributions(Distributions, SeededDrawing):
    """Numbers of other distributions."""

    def _waiting_times(self, x: Array, rate: float, generator: object) -> Any:
        source = self.twister(generator)
        if source is None:
            return super()._waiting_times(x, rate, generator)
        return numbers_for(x, exponential, source, x.dtype, rate)

    def poisson(self, x: Array, generator: object = None) -> Any:
        """Return numbers of the Poisson distribution with the rates `x`."""
        source = self.twister(generator)
        if source is None:
            return super().poisson(x, generator)
        self._check_rates(x)
        with source.lock:
            made = compiled_rejections().poisson(source.bits, x.shape, x.astype(np.float64))
        return narrowed(made, x.dtype)

    def binomial(self, count: Array, prob: Array, generator: object = None) -> Any:
        """Return how many of `count` trials succeed, each with probability `prob`."""
        source = self.twister(generator)
        if source is None:
            return super().binomial(count, prob, generator)
        self._check_trials(count, prob)
        shape = broadcast_shapes([count.shape, prob.shape])
        both = [np.broadcast_to(x, shape).astype(np.float64) for x in (count, prob)]
        with source.lock:
            made = compiled_rejections().binomial(source.bits, shape, *both)
        return narrowed(made, count.dtype)


class SeededGammaNumbers(GammaNumbers, SeededDrawing):
    """Numbers of the gamma distribution."""

    def _gamma(self, alpha: Array, generator: object) -> Any:
        source = self.twister(generator)
        if source is None:
            return super()._gamma(alpha, generator)
        with source.lock:
            made, source.kept = compiled_rejections().gamma(
                source.bits, alpha.shape, alpha.astype(np.float64), source.kept
            )
        return made
