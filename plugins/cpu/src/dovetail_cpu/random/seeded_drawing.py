"""What random kernels draw from a Mersenne Twister: PyTorch's numbers, which depend on how the
tensor that they are written to lies in memory. From other generators they draw NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dovetail_aten.families import Drawing
from dovetail_aten.kernel_support import elementwise_order

from . import drawn_numbers as drawn
from .mersenne_twister import MersenneTwister

Array = np.ndarray[Any, Any]

_SINGLE: Final = np.dtype(np.float32)
_DOUBLE: Final = np.dtype(np.float64)


def numbers_for(
    like: Any, draw: Callable[..., Array], source: MersenneTwister, *arguments: Any
) -> Array:
    """Return ``draw(source, size, *arguments)`` for an array or a shape: one number after another
    in the order in which the elements of the array lie in memory.
    """
    if like.__class__ is tuple:
        return draw(source, like, *arguments)
    if not isinstance(like, np.ndarray):
        return draw(source, tuple(like), *arguments)
    if like.flags.c_contiguous:
        return draw(source, like.shape, *arguments)
    shape, order = elementwise_order([(like.shape, like.strides)])
    size = tuple([shape[dim] for dim in order])
    return draw(source, size, *arguments).transpose(np.argsort(order))


class SeededDrawing(Drawing):
    """Uniform, normal and integer numbers."""

    def twister(self, generator: object) -> MersenneTwister | None:
        """Return what to draw from; None for a generator of NumPy's."""
        source = self.capabilities.source(generator)  # type: ignore[attr-defined]
        return source if isinstance(source, MersenneTwister) else None

    def _uniform(
        self, like: Any, dtype: Any, generator: object, low: float = 0.0, high: float = 1.0
    ) -> Any:
        source = self.twister(generator)
        if source is None:
            return super()._uniform(like, dtype, generator, low, high)
        if dtype is not _SINGLE:
            self._check("check_uniform_bounds", dtype)
        return numbers_for(like, drawn.uniform, source, dtype, low, high)

    def _normal(
        self, like: Any, dtype: Any, generator: object, mean: float = 0.0, std: float = 1.0
    ) -> Any:
        source = self.twister(generator)
        if source is None:
            return super()._normal(like, dtype, generator, mean, std)
        if dtype is not _SINGLE:
            self._check("normal_kernel", dtype)
        dense = not isinstance(like, np.ndarray) or like.flags.c_contiguous
        return numbers_for(like, drawn.normal, source, dtype, mean, std, dense)

    def _chosen(
        self, like: np.ndarray | tuple[int, ...], p: np.ndarray | float, generator: object
    ) -> Any:
        source = self.twister(generator)
        if source is None:
            return super()._chosen(like, p, generator)
        if not isinstance(p, np.ndarray):
            return numbers_for(like, drawn.chosen, source, p)
        if p.dtype == _DOUBLE:
            return numbers_for(like, drawn.doubles, source) < p
        chances = self.precision.converted(p, _SINGLE)
        return numbers_for(like, drawn.uniform, source, _SINGLE) < chances

    def _wide_uniform(self, x: np.ndarray, generator: object) -> Any:
        source = self.twister(generator)
        if source is None:
            return super()._wide_uniform(x, generator)
        return numbers_for(x, drawn.doubles, source)

    def _wide_normal(self, x: np.ndarray, mean: float, std: float, generator: object) -> Any:
        source = self.twister(generator)
        if source is None:
            return super()._wide_normal(x, mean, std, generator)
        return numbers_for(x, drawn.paired_normal, source, mean, std)

    def _drawn_integers(
        self, low: int, high: int, like: np.ndarray | tuple[int, ...], generator: object
    ) -> Any:
        source = self.twister(generator)
        if source is None:
            return super()._drawn_integers(low, high, like, generator)
        return numbers_for(like, drawn.integers, source, low, high)

    def _numbers_up_to(self, greatest: int, x: np.ndarray, generator: object) -> Any:
        source = self.twister(generator)
        if source is None:
            return super()._numbers_up_to(greatest, x, generator)
        return numbers_for(x, drawn.numbers_up_to, source, greatest, x.dtype.itemsize == 8)
