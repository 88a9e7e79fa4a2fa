"""PyTorch's numbers of one `MersenneTwister`: how its words become uniform, normal and integer
numbers of every dtype, one after another as they lie in memory.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

import ml_dtypes
import numpy as np

from .fused import multiply_add
from .mersenne_twister import MersenneTwister

Array = np.ndarray[Any, Any]

_SINGLE: Final = np.dtype(np.float32)
_DOUBLE: Final = np.dtype(np.float64)
_LONG: Final = np.dtype(np.int64)
HALVES: Final = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
_PIECE: Final = 1 << 15
"""So many numbers are made at once: they stay in the cache."""
_BLOCK: Final = 16
"""Normal numbers of so many words are made together, where there are at least so many."""
_LONG_RANGE: Final = 1 << 28
"""Integers of ranges from here on take a pair of words."""
_FRACTIONS: Final = {size: np.array((1 << 24) - 1, f"u{size}") for size in (4, 8)}
_SIGNED: Final = {size: np.dtype(f"i{size}") for size in (4, 8)}
_CONSTANTS: Final = {
    each.type: [np.array(number, each) for number in (1, -2, 2 * math.pi)]
    for each in (_SINGLE, _DOUBLE)
}
_UNIT: Final = np.array(2.0**-24, _SINGLE)


def in_pieces(count: int, dtype: Any, make: Callable[[int], Array]) -> Array:
    """Return `count` numbers, of which ``make(n)`` returns the next n."""
    if count <= _PIECE:
        return make(count).astype(dtype, copy=False)
    made = np.empty(count, dtype)
    for start in range(0, count, _PIECE):
        piece = made[start : start + _PIECE]
        piece[...] = make(piece.size)
    return made


def laid_out(x: Array, numbers: Array) -> Array:
    """Return `numbers` in the shape of `x`: one after another in the order in which the elements
    of `x` lie in memory.
    """
    if x.flags.c_contiguous:
        return numbers.reshape(x.shape)
    order = sorted(range(x.ndim), key=lambda dim: -abs(x.strides[dim]))
    return numbers.reshape([x.shape[dim] for dim in order]).transpose(np.argsort(order))


def narrowed(numbers: Array, dtype: Any) -> Array:
    """Return doubles in another dtype; in half precision by way of float32."""
    if dtype in HALVES:
        numbers = numbers.astype(_SINGLE)
    return numbers.astype(dtype, copy=False)


# -- uniform numbers -------------------------------------------------------------------------------


def uniform(
    source: MersenneTwister, count: int, dtype: Any, low: float = 0.0, high: float = 1.0
) -> Array:
    """Return `count` numbers of [low, high): 53 bits in float64, else 24, rounded to `dtype`."""
    unit = low == 0 and high == 1
    if unit and count <= _PIECE and dtype is _SINGLE:  # which is quicker than an ``==``
        return _singles(source, count)
    wide = dtype == _DOUBLE
    if unit and count <= _PIECE and (wide or dtype == _SINGLE):
        return source.doubles(count) if wide else _singles(source, count)
    if not wide:
        low, high = float(_SINGLE.type(low)), float(_SINGLE.type(high))
    width = high - low if wide else float(_SINGLE.type(high) - _SINGLE.type(low))
    end, start = np.array(high, dtype), np.array(low, dtype)

    def make(n: int) -> Array:
        drawn = source.doubles(n) if wide else _singles(source, n)
        if not unit:
            drawn = multiply_add(drawn, width, low)
        elif dtype == drawn.dtype:
            return drawn
        made = drawn.astype(dtype, copy=False)
        made[made == end] = start  # what is rounded up to the end, which is exclusive
        return made

    return in_pieces(count, dtype, make)


def _singles(source: MersenneTwister, count: int) -> Array:
    found = source.ahead(count)
    if found is not None:
        return found[0].made(found[1], count, "singles", _singles_of)
    return _singles_of(source.raw(count))


def _singles_of(words: Array) -> Array:
    np.bitwise_and(words, _FRACTIONS[words.itemsize], words)
    # Signed ones convert faster.
    made: Array = words.view(_SIGNED[words.itemsize]).astype(_SINGLE)
    return np.multiply(made, _UNIT, made)


# -- normal numbers --------------------------------------------------------------------------------


def normal(
    source: MersenneTwister,
    count: int,
    dtype: Any,
    mean: float = 0.0,
    std: float = 1.0,
    *,
    dense: bool = True,
) -> Array:
    """Return `count` normal numbers.

    Parameters
    ----------
    dense
        Whether they go to memory without gaps, in C order. Then blocks of 16 are made together;
        default: True.
    """
    if dense and dtype is _SINGLE and _BLOCK <= count <= _PIECE and not count % _BLOCK:
        found = source.ahead(count)
        if found is None:
            return _blocks(_singles_of(source.raw(count)), mean, std)
        drawn = found[0].made(found[1], count, "normal", _normal_of, _BLOCK, _BLOCK)
        return drawn if mean == 0 and std == 1 else multiply_add(drawn, std, mean)
    if not dense or count < _BLOCK:
        return narrowed(paired_normal(source, count, mean, std), dtype)
    if dtype in HALVES:
        whole = count // _BLOCK * _BLOCK
        made = in_pieces(whole, dtype, lambda n: _blocks(_singles(source, n), mean, std))
        if whole == count:
            return made
        last = _blocks(_singles(source, _BLOCK), mean, std).astype(dtype)
        return np.concatenate((made[: count - _BLOCK], last))
    draw = source.doubles if dtype == _DOUBLE else lambda n: _singles(source, n)
    if count <= _PIECE and not count % _BLOCK:
        return _blocks(draw(count), mean, std)
    made = np.empty(count, dtype)
    for start in range(0, count, _PIECE):
        drawn = draw(min(_PIECE, count - start))
        whole = drawn.size // _BLOCK * _BLOCK
        made[start : start + whole] = _blocks(drawn[:whole], mean, std)
    if count % _BLOCK:
        # The last block would not be whole: it is drawn anew, over the end of the one before.
        made[-_BLOCK:] = _blocks(draw(_BLOCK), mean, std)
    return made


def _normal_of(words: Array) -> Array:
    return _blocks(_singles_of(words), 0.0, 1.0)


def _blocks(drawn: Array, mean: float, std: float) -> Array:
    """Return normal numbers of uniform ones (Box and Muller 1958, doi:10.1214/aoms/1177706645): of
    every block of 16, the first half are radii and the second half angles.
    """
    one, minus_two, turn = _CONSTANTS[drawn.dtype.type]
    halves = drawn.reshape(-1, 2, _BLOCK // 2)
    radius = np.subtract(one, halves[:, 0])
    np.log(radius, out=radius)
    np.multiply(radius, minus_two, out=radius)
    np.sqrt(radius, out=radius)
    angle = np.multiply(halves[:, 1], turn)
    made: Array = np.empty_like(halves)
    np.multiply(radius, np.cos(angle), out=made[:, 0])
    np.multiply(radius, np.sin(angle, out=angle), out=made[:, 1])
    made = made.reshape(-1)
    return made if mean == 0 and std == 1 else multiply_add(made, std, mean)


def paired_normal(
    source: MersenneTwister, count: int, mean: float = 0.0, std: float = 1.0
) -> Array:
    """Return the next `count` normal numbers in float64, made in pairs: the second one of the last
    is kept for the next draw.
    """
    if not count:
        return np.empty(0)
    kept, source.kept = source.kept, None
    start = 0 if kept is None else 1
    made = np.empty(start + (count - start + 1) // 2 * 2)
    if kept is not None:
        made[0] = kept
    drawn = source.doubles(made.size - start)
    angle = drawn[::2] * (2 * math.pi)
    radius = np.sqrt(-2 * np.log1p(-drawn[1::2]))
    np.multiply(radius, np.cos(angle), out=made[start::2])
    np.multiply(radius, np.sin(angle), out=made[start + 1 :: 2])
    if made.size > count:
        source.kept = float(made[-1])
        made = made[:count]
    return made if mean == 0 and std == 1 else multiply_add(made, std, mean)


def normal_pair(angle: float, radius: float) -> tuple[float, float]:
    """Return two normal numbers of two uniform ones."""
    length = math.sqrt(-2 * math.log1p(-radius))
    return length * math.cos(2 * math.pi * angle), length * math.sin(2 * math.pi * angle)


# -- integers --------------------------------------------------------------------------------------


def integers(source: MersenneTwister, count: int, low: int, high: int) -> Array:
    """Return `count` integers of [low, high) as int64; a range of 2**64 has all of them."""
    width = high - low
    if width == 1 << 64:
        low = 0
    if width >= _LONG_RANGE:
        return in_pieces(count, np.int64, lambda n: _remainders(source.pairs(n), width, low))
    found = source.ahead(count)
    if found is not None:
        kind = "integers", width, low
        return found[0].made(found[1], count, kind, lambda words: _remainders(words, width, low))
    return in_pieces(count, np.int64, lambda n: _remainders(source.raw(n), width, low))


def numbers_up_to(source: MersenneTwister, count: int, greatest: int, long: bool) -> Array:
    """Return `count` integers from 0 to `greatest` as int64, of pairs of words where `long`."""
    draw = source.pairs if long else source.raw
    return in_pieces(count, np.int64, lambda n: _remainders(draw(n), greatest + 1, 0))


def _remainders(words: Array, width: int, low: int) -> Array:
    if width < 1 << words.dtype.itemsize * 8:
        # NumPy divides by a number faster than it finds remainders.
        divisor = np.array(width, words.dtype)
        parts = np.floor_divide(words, divisor)
        np.subtract(words, np.multiply(parts, divisor, parts), words)
    made: Array = (
        words.view(_LONG) if words.dtype.itemsize == _LONG.itemsize else words.astype(_LONG)
    )
    if low:
        made += low
    return made


# -- permutations ----------------------------------------------------------------------------------

_VERY_FEW: Final = 64
"""Up to here the places are found one by one faster than by NumPy."""
_FEW: Final = 1 << 13
"""So many numbers are shuffled one by one, as long as nothing else has imported SciPy's routine."""
_LAPACK: Final = "scipy.linalg.lapack"
_VERY_MANY: Final = ((1 << 32) - 1) // 20
"""From here on a place takes a pair of words."""


def permutation(source: MersenneTwister, count: int) -> Array:
    """Return the integers below `count`, shuffled from the first place on (Durstenfeld 1964,
    doi:10.1145/364520.364540), as int64.
    """
    if count < 2:
        return np.arange(count)
    if count < _VERY_FEW:
        words = source.raw(count - 1).tolist()
        return _swapped(count, [place + word % (count - place) for place, word in enumerate(words)])
    draw = source.words if count < _VERY_MANY else source.pairs
    left = np.arange(count, 1, -1)
    words = draw(count - 1)
    places = np.arange(count - 1)
    places += (words % left.astype(words.dtype)).view(f"i{words.itemsize}")
    if count < _FEW and _LAPACK not in sys.modules:
        return _swapped(count, places.tolist())
    return _swapped_by_lapack(count, places)


def _swapped(count: int, places: list[int]) -> Array:
    made = list(range(count))
    for place, other in enumerate(places):
        made[place], made[other] = made[other], made[place]
    return np.array(made)


def _swapped_by_lapack(count: int, places: Array) -> Array:
    """Exchange the rows of a matrix of one column, which LAPACK does for its pivots."""
    exchange = import_module(_LAPACK).dlaswp
    column = np.asfortranarray(np.arange(count, dtype=_DOUBLE)[:, None])
    made: Array = exchange(column, places, overwrite_a=1)[:, 0].astype(np.int64)
    return made
