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

from dovetail_aten.kernel_support import check_size
from dovetail_dispatcher.sockets import COMPILED_OPERATOR

from ..functions.fused import multiply_add

Array = np.ndarray[Any, Any]
Size = tuple[int, ...]

_BLOCK: Final = 16
"""Normal numbers of so many words are made together, where there are at least so many."""


def _count(size: Size) -> int:
    """Return the number of elements of a shape. Raises the errors of `check_size`."""
    return math.prod(check_size(size, 8))


def _pairs(bits: np.random.BitGenerator, count: int) -> Array:
    """Return the next `count` pairs of words: the first of two is the upper half."""
    words: Array = bits.random_raw(2 * count)
    return words[::2] << np.uint64(32) | words[1::2]


def uniform(bits: Any, size: Size, wide: bool, low: float, high: float) -> Array:
    """Return numbers of [low, high): of 53 bits in float64 if `wide`, else of 24 in float32."""
    count = _count(size)
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


def chosen(bits: np.ndarray, size: Size, p: float) -> Array:
    """Return True with probability `p`, else False."""
    made: Array = uniform(bits, size, True, 0.0, 1.0) < p
    return made


def normal(
    bits: np.ndarray,
    size: Size,
    wide: bool,
    mean: float,
    std: float,
    kept: float | None,
    blocks: int,
) -> tuple[Array, float | None]:
    """Return normal numbers in float64 if `wide`, else in float32, and the new `kept`.

    Parameters
    ----------
    kept
        The first number, where they are made in pairs: the second one of a pair that was not
        drawn.
    blocks
        Whether at least 16 numbers are made in blocks: 0 for no, 2 for numbers of half precision.
        If the last block is not whole, its words are drawn, except for half precision; then a block
        is drawn anew, over the end of the one before.
    """
    count = _count(size)
    if not blocks or count < _BLOCK:
        made, kept = _pairs_of_normal(bits, count, kept)
        return _scaled(made, mean, std).astype("f8" if wide else "f4").reshape(size), kept
    whole = count // _BLOCK * _BLOCK
    drawn = uniform(bits, (count if blocks == 1 else whole,), wide, 0.0, 1.0)
    made = _boxed(drawn[:whole])
    if whole < count:
        last = _boxed(uniform(bits, (_BLOCK,), wide, 0.0, 1.0))
        made = np.concatenate((made[: count - _BLOCK], last))
    return _scaled(made, mean, std).reshape(size), kept


def _boxed(drawn: Array) -> Array:
    """Return normal numbers of uniform ones (Box and Muller 1958, doi:10.1214/aoms/1177706645): of
    every block of 16, the first half are radii and the second half angles.
    """
    halves = drawn.reshape(-1, 2, _BLOCK // 2)
    radius = np.sqrt(np.log(1 - halves[:, 0]) * -2)
    angle = halves[:, 1] * (2 * math.pi)
    return np.stack((radius * np.cos(angle), radius * np.sin(angle)), 1).reshape(-1)


def _scaled(made: Array, mean: float, std: float) -> Array:
    return made if mean == 0 and std == 1 else multiply_add(made, std, mean)


def _pairs_of_normal(
    bits: np.ndarray, count: int, kept: float | None
) -> tuple[Array, float | None]:
    if not count:
        return np.empty(0), kept
    first = [] if kept is None else [kept]
    drawn = uniform(bits, ((count - len(first) + 1) // 2, 2), True, 0.0, 1.0)
    angle = drawn[:, 0] * (2 * math.pi)
    radius = np.sqrt(-2 * np.log1p(-drawn[:, 1]))
    pairs = np.stack((radius * np.cos(angle), radius * np.sin(angle)), 1).reshape(-1)
    made = np.concatenate((first, pairs))
    return made[:count], float(made[count]) if made.size > count else None


def exponential(bits: np.ndarray, size: Size, wide: bool, rate: float) -> Array:
    """Return exponential numbers, computed in float64, in float32 unless `wide`."""
    made = np.log1p(-uniform(bits, size, True, 0.0, 1.0)) * (-1 / rate)
    return made.astype("f8" if wide else "f4")


def integers(bits: np.random.BitGenerator, size: Size, low: int, width: int, paired: bool) -> Array:
    """Return remainders of words, or of pairs, divided by `width`, plus `low`, as int64."""
    count = _count(size)
    words: Array = _pairs(bits, count) if paired else bits.random_raw(count)
    if width < 1 << 64:
        words = words % np.uint64(width)
    return (words.view(np.int64) + low).reshape(size)


def permutation(bits: np.random.BitGenerator, size: Size, paired: bool) -> Array:
    """Return the integers below a size, shuffled from the first place on (Durstenfeld 1964,
    doi:10.1145/364520.364540), as int64.
    """
    made = list(range(_count(size)))
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
    normal: Callable[..., tuple[Array, float | None]] = normal
    exponential: Callable[..., Array] = exponential
    integers: Callable[..., Array] = integers
    permutation: Callable[..., Array] = permutation


@cache
def compiled_draws() -> Draws:
    """Return the functions, compiled where there is compiled code: it is loaded with the base
    library, before any number is drawn.
    """
    plug = COMPILED_OPERATOR.plug
    return Draws(*[plug(f"random.{each.__name__}", each) for each in Draws()])
