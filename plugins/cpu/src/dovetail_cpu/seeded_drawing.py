"""What random kernels draw from a Mersenne Twister: PyTorch's numbers, which depend on how the
tensor that they are written to lies in memory. From other generators they draw NumPy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dovetail_aten.families.random.kernels.drawing import Drawing
from dovetail_aten.kernel_support.dims import check_size

from . import drawn_numbers as drawn
from .mersenne_twister import MersenneTwister

Array = np.ndarray[Any, Any]

_SINGLE: Final = np.dtype(np.float32)
_DOUBLE: Final = np.dtype(np.float64)


def numbers_for(like: Any, make: Callable[[int], Array]) -> Array:
    """Return numbers for an array or a shape, of which ``make(n)`` returns n one after another."""
    if isinstance(like, np.ndarray):
        return drawn.laid_out(like, make(like.size))
    shape = check_size(like)
    return make(math.prod(shape)).reshape(shape)


class SeededDrawing(Drawing):
    """Uniform, normal and integer numbers."""

    def twister(self, generator: Any) -> MersenneTwister | None:
        """Return what to draw from; None for a generator of NumPy's."""
        source = self.capabilities.source(generator)  # type: ignore[attr-defined]
        return source if isinstance(source, MersenneTwister) else None

    def _uniform(
        self, like: Any, dtype: Any, generator: Any, low: float = 0.0, high: float = 1.0
    ) -> Any:
        source = self.twister(generator)
        if source is None:
            return super()._uniform(like, dtype, generator, low, high)
        if dtype is _SINGLE:  # most are
            with source.lock:
                return numbers_for(like, lambda n: drawn.uniform(source, n, dtype, low, high))
        self._check("check_uniform_bounds", dtype)

        def make(count: int) -> Array:
            if dtype.kind != "c":
                return drawn.uniform(source, count, dtype, low, high)
            return drawn.uniform(source, 2 * count, part_of(dtype), low, high).view(dtype)

        with source.lock:
            return numbers_for(like, make)

    def _normal(
        self, like: Any, dtype: Any, generator: Any, mean: float = 0.0, std: float = 1.0
    ) -> Any:
        source = self.twister(generator)
        if source is None:
            return super()._normal(like, dtype, generator, mean, std)
        dense = not isinstance(like, np.ndarray) or like.flags.c_contiguous
        if dtype is _SINGLE:
            with source.lock:
                return numbers_for(
                    like, lambda n: drawn.normal(source, n, dtype, mean, std, dense=dense)
                )
        self._check("normal_kernel", dtype)

        def make(count: int) -> Array:
            if dtype.kind != "c":
                return drawn.normal(source, count, dtype, mean, std, dense=dense)
            part, half = part_of(dtype), std / math.sqrt(2)
            both: Array = drawn.normal(source, 2 * count, part, 0.0, half, dense=dense).view(dtype)
            if mean:
                both += dtype.type(mean)
            return both

        with source.lock:
            return numbers_for(like, make)

    def _chosen(self, like: Any, p: Any, generator: Any) -> Any:
        source = self.twister(generator)
        if source is None:
            return super()._chosen(like, p, generator)
        single = isinstance(p, np.ndarray) and p.dtype != _DOUBLE
        if single:
            p = p.astype(_SINGLE, copy=False)
        with source.lock:
            if single:
                return numbers_for(like, lambda n: drawn.uniform(source, n, _SINGLE)) < p
            if isinstance(p, np.ndarray):
                return numbers_for(like, source.doubles) < p
            return numbers_for(
                like, lambda n: drawn.in_pieces(n, np.bool_, lambda m: source.doubles(m) < p)
            )

    def _wide_uniform(self, x: Any, generator: Any) -> Any:
        source = self.twister(generator)
        if source is None:
            return super()._wide_uniform(x, generator)
        with source.lock:
            return numbers_for(x, source.doubles)

    def _wide_normal(self, x: Any, mean: float, std: float, generator: Any) -> Any:
        source = self.twister(generator)
        if source is None:
            return super()._wide_normal(x, mean, std, generator)
        with source.lock:
            return numbers_for(x, lambda n: drawn.paired_normal(source, n, mean, std))

    def _drawn_integers(self, low: int, high: int, like: Any, generator: Any) -> Any:
        source = self.twister(generator)
        if source is None:
            return super()._drawn_integers(low, high, like, generator)
        with source.lock:
            return numbers_for(like, lambda n: drawn.integers(source, n, low, high))

    def _numbers_up_to(self, greatest: int, x: Any, generator: Any) -> Any:
        source = self.twister(generator)
        if source is None:
            return super()._numbers_up_to(greatest, x, generator)
        with source.lock:
            return numbers_for(
                x, lambda n: drawn.numbers_up_to(source, n, greatest, x.dtype.itemsize == 8)
            )


def part_of(dtype: Any) -> np.dtype[Any]:
    """Return the dtype of the parts of a complex one."""
    return np.empty(0, dtype).real.dtype
