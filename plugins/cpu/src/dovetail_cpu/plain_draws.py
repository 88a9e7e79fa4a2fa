"""PyTorch's draws from the words of a Mersenne Twister, by NumPy: the reference of those that are
compiled, and what draws without compiled code.

`bits` is a generator's ``numpy.random.MT19937``, whose lock the caller holds. Numbers come in C
order of a shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from dovetail_dispatcher.sockets import COMPILED_OPERATOR

from .fused import multiply_add

__all__ = ["BLOCK", "Draws", "compiled_draws"]

Array = np.ndarray[Any, Any]
Size = tuple[int, ...]

BLOCK: Final = 16
"""Normal numbers of so many words are made together, where there are at least so many."""


def _pairs(bits: Any, count: int) -> Array:
    """Return the next `count` pairs of words: the first of two is the upper half."""
    words: Array = bits.random_raw(2 * count)
    return words[::2] << np.uint64(32) | words[1::2]


def uniform(bits: Any, size: Size, wide: bool, low: float, high: float) -> Array:
    """Return numbers of [low, high): of 53 bits in float64 if `wide`, else of 24 in float32."""
    count = math.prod(size)
    if wide:
        made: Array = (_pairs(bits, count) & np.uint64((1 << 53) - 1)) * 2.0**-53
    else:
        made = (bits.random_raw(count) & np.uint64((1 << 24) - 1)).astype(np.float32)
        made *= 2.0**-24
    if low != 0 or high != 1:
        start, end = made.dtype.type(low), made.dtype.type(high)
        made = multiply_add(made, float(end - start), float(start))
        made[made == end] = start  # rounded up to the end, which is exclusive
    return made.reshape(size)


def chosen(bits: Any, size: Size, p: float) -> Array:
    """Return True with probability `p`, else False."""
    made: Array = uniform(bits, size, True, 0.0, 1.0) < p
    return made


def normal_blocks(
    bits: Any, size: Size, wide: bool, mean: float, std: float, draws_rest: bool
) -> Array:
    """Return at least 16 normal numbers in float64 if `wide`, else in float32, made in blocks. If
    the last one is not whole, its words are drawn if `draws_rest`; then a block is drawn anew, over
    the end of the one before.
    """
    count = math.prod(size)
    whole = count // BLOCK * BLOCK
    made = _boxed(uniform(bits, (count if draws_rest else whole,), wide, 0.0, 1.0)[:whole])
    if whole < count:
        last = _boxed(uniform(bits, (BLOCK,), wide, 0.0, 1.0))
        made = np.concatenate((made[: count - BLOCK], last))
    return _scaled(made, mean, std).reshape(size)


def _boxed(drawn: Array) -> Array:
    """Return normal numbers of uniform ones (Box and Muller 1958, doi:10.1214/aoms/1177706645): of
    every block of 16, the first half are radii and the second half angles.
    """
    halves = drawn.reshape(-1, 2, BLOCK // 2)
    radius = np.sqrt(np.log(1 - halves[:, 0]) * -2)
    angle = halves[:, 1] * (2 * math.pi)
    return np.stack((radius * np.cos(angle), radius * np.sin(angle)), 1).reshape(-1)


def _scaled(made: Array, mean: float, std: float) -> Array:
    return made if mean == 0 and std == 1 else multiply_add(made, std, mean)


def normal_pairs(
    bits: Any, size: Size, wide: bool, mean: float, std: float, kept: float | None
) -> tuple[Array, float | None]:
    """Return normal numbers, computed in float64 in pairs, in float32 unless `wide`: the first one
    is `kept` if that is not None. Return the second one of the last pair if it is not drawn.
    """
    count = math.prod(size)
    dtype = np.float64 if wide else np.float32
    if not count:
        return np.empty(size, dtype), kept
    first = [] if kept is None else [kept]
    drawn = uniform(bits, ((count - len(first) + 1) // 2, 2), True, 0.0, 1.0)
    angle = drawn[:, 0] * (2 * math.pi)
    radius = np.sqrt(-2 * np.log1p(-drawn[:, 1]))
    pairs = np.stack((radius * np.cos(angle), radius * np.sin(angle)), 1).reshape(-1)
    made = np.concatenate((first, pairs))
    left = float(made[count]) if made.size > count else None
    return _scaled(made[:count], mean, std).astype(dtype).reshape(size), left


def integers(bits: Any, size: Size, low: int, width: int, paired: bool) -> Array:
    """Return remainders of words, or of pairs, divided by `width`, plus `low`, as int64."""
    count = math.prod(size)
    words: Array = _pairs(bits, count) if paired else bits.random_raw(count)
    if width < 1 << 64:
        words = words % np.uint64(width)
    return (words.view(np.int64) + low).reshape(size)


def permutation(bits: Any, size: Size, paired: bool) -> Array:
    """Return the integers below a size, shuffled from the first place on (Durstenfeld 1964,
    doi:10.1145/364520.364540), as int64.
    """
    made = list(range(*size))
    rest = max(len(made) - 1, 0)
    words: Array = _pairs(bits, rest) if paired else bits.random_raw(rest)
    steps = (words % np.arange(rest + 1, 1, -1).astype(np.uint64)).tolist()
    for place, step in enumerate(steps):
        made[place], made[place + step] = made[place + step], made[place]
    return np.array(made, np.int64)


class Draws(NamedTuple):
    """The functions of this module."""

    uniform: Callable[..., Array] = uniform
    chosen: Callable[..., Array] = chosen
    normal_blocks: Callable[..., Array] = normal_blocks
    normal_pairs: Callable[..., tuple[Array, float | None]] = normal_pairs
    integers: Callable[..., Array] = integers
    permutation: Callable[..., Array] = permutation


def compiled_draws() -> Draws:
    """Return the functions, compiled where there is compiled code."""
    return _supplied(COMPILED_OPERATOR.is_filled)


@cache
def _supplied(_compiled: bool) -> Draws:
    plug = COMPILED_OPERATOR.plug
    return Draws(*[plug(f"random.{each.__name__}", each) for each in Draws()])
