"""PyTorch's numbers of a `MersenneTwister` in every dtype, in C order of a shape. Each function
draws its numbers together: it holds the lock of the generator.
"""

from __future__ import annotations

import math
from typing import Any, Final

import ml_dtypes
import numpy as np

from .mersenne_twister import MersenneTwister
from .plain_draws import compiled_draws

Array = np.ndarray[Any, Any]
Size = tuple[int, ...]

_SINGLE: Final = np.dtype(np.float32)
_DOUBLE: Final = np.dtype(np.float64)
_HALVES: Final = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
_LONG_RANGE: Final = 1 << 28
"""Integers of ranges from here on take a pair of words."""
_VERY_MANY: Final = ((1 << 32) - 1) // 20
"""From here on each number of a permutation takes a pair of words."""


def narrowed(numbers: Array, dtype: np.dtype) -> Array:
    """Return doubles in another dtype; in half precision by way of float32."""
    if dtype in _HALVES:
        numbers = numbers.astype(_SINGLE)
    return numbers.astype(dtype, copy=False)


def uniform(
    source: MersenneTwister, size: Size, dtype: Any, low: float = 0.0, high: float = 1.0
) -> Array:
    """Return numbers of [low, high): 53 bits in float64, else 24, rounded to `dtype`; of complex
    dtype in both parts.
    """
    if dtype is _SINGLE:  # most are, and "is" is quicker than "=="
        with source.lock:
            return compiled_draws().uniform(source.bits, size, False, low, high)
    if dtype.kind == "c":
        return _complex(uniform(source, (*size, 2), _part_of(dtype), low, high), dtype)
    with source.lock:
        drawn = compiled_draws().uniform(source.bits, size, dtype == _DOUBLE, low, high)
    if dtype not in _HALVES:
        return drawn
    made = drawn.astype(dtype)
    made[made == np.array(high, dtype)] = low
    return made


def doubles(source: MersenneTwister, size: Size) -> Array:
    """Return numbers of [0, 1) in float64."""
    return uniform(source, size, _DOUBLE)


def chosen(source: MersenneTwister, size: Size, p: float) -> Array:
    """Return True with probability `p`, else False."""
    with source.lock:
        return compiled_draws().chosen(source.bits, size, p)


def normal(
    source: MersenneTwister,
    size: Size,
    dtype: Any,
    mean: float = 0.0,
    std: float = 1.0,
    dense: bool = True,
) -> Array:
    """Return normal numbers, of complex dtype with both parts of half the variance.

    Parameters
    ----------
    dense
        Whether they go to memory without gaps, in C order. Then blocks of 16 are made together;
        default: True.
    """
    if dtype is _SINGLE:
        return _normal(source, size, False, mean, std, 1 if dense else 0)
    if dtype.kind == "c":
        parts = normal(source, (*size, 2), _part_of(dtype), 0.0, std / math.sqrt(2), dense)
        made = _complex(parts, dtype)
        return made + dtype.type(mean) if mean else made
    blocks = 0 if not dense else 2 if dtype in _HALVES else 1
    return _normal(source, size, dtype == _DOUBLE, mean, std, blocks).astype(dtype, copy=False)


def paired_normal(
    source: MersenneTwister, size: Size, mean: float = 0.0, std: float = 1.0
) -> Array:
    """Return normal numbers in float64 that are made in pairs, however many there are."""
    return _normal(source, size, True, mean, std, 0)


def _normal(
    source: MersenneTwister, size: Size, wide: bool, mean: float, std: float, blocks: int
) -> Array:
    """Return normal numbers. The second one of the last pair is kept for the next draw."""
    with source.lock:
        drawn, source.kept = compiled_draws().normal(
            source.bits, size, wide, mean, std, source.kept, blocks
        )
    return drawn


def exponential(source: MersenneTwister, size: Size, dtype: np.dtype, rate: float) -> Array:
    """Return exponential numbers."""
    with source.lock:
        drawn = compiled_draws().exponential(source.bits, size, dtype == _DOUBLE, rate)
    return drawn.astype(dtype, copy=False)


def integers(source: MersenneTwister, size: Size, low: int, high: int) -> Array:
    """Return integers of [low, high) as int64; a range of 2**64 has all of them."""
    width = high - low
    low = 0 if width == 1 << 64 else low
    with source.lock:
        return compiled_draws().integers(source.bits, size, low, width, width >= _LONG_RANGE)


def numbers_up_to(source: MersenneTwister, size: Size, greatest: int, long: bool) -> Array:
    """Return integers from 0 to `greatest` as int64, of pairs of words if `long`."""
    with source.lock:
        return compiled_draws().integers(source.bits, size, 0, greatest + 1, long)


def permutation(source: MersenneTwister, count: int) -> Array:
    """Return the integers below `count` in random order, as int64."""
    with source.lock:
        return compiled_draws().permutation(source.bits, (count,), count >= _VERY_MANY)


def _part_of(dtype: np.dtype) -> np.dtype[Any]:
    """Return the dtype of the parts of a complex one."""
    return np.empty(0, dtype).real.dtype


def _complex(parts: Array, dtype: np.dtype) -> Array:
    """Return the complex numbers of real and imaginary parts along the last axis."""
    made: Array = parts.view(dtype)[..., 0]
    return made
