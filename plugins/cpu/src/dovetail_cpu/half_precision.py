"""float16 from float32 and back by steps on their bits, which NumPy has vector instructions for.

Its own conversion goes element by element.
"""

from __future__ import annotations

from typing import Any, Final

import numpy

from .blocks import contiguous_order, line_of
from .quick_functions import clip
from .scratch import BLOCK_BYTES, Scratch
from .threads import run_pieces

__all__ = ["converted"]

_HALF, _SINGLE = numpy.dtype(numpy.float16), numpy.dtype(numpy.float32)
_STEP: Final = BLOCK_BYTES // 4


def _integer(value: int) -> Any:
    return numpy.array(value, numpy.int32)


_MOVED: Final = _integer(13)
"""Bits of a fraction that float16 has not."""
_WITHOUT_SIGNS: Final = numpy.array(0x8FFFE000, numpy.uint32).view(numpy.int32)
"""What is left of sign, exponent and fraction; the sign was moved through the bits between."""
_RAISE: Final = numpy.array(2.0**112, _SINGLE)
"""By how much the biases of the exponents differ; a product makes subnormal numbers normal too."""
_NOT_FINITE: Final = 0xF800
_ABSOLUTE: Final = _integer(0x7FFFFFFF)
_TOO_LARGE: Final = 0x477FF000
"""From here on the result is infinite, or NaN."""
_ROUND: Final = _integer(0x0FFF - (112 << 23))
_ONE, _SIGN_MOVED, _SIGN = _integer(1), _integer(16), _integer(0x8000)
_ZERO, _LEAST_NORMAL = numpy.array(0, _SINGLE), numpy.array(2.0**-14, _SINGLE)
_GRID: Final = numpy.array(0.5, _SINGLE)
"""Numbers from here to 1 are as far apart as the subnormal ones of float16."""
_GRID_BITS: Final = _integer(0x3F000000)


def converted(x: Any, dtype: Any) -> Any | None:
    """Return a copy of many elements in float32 that are float16, or in float16 that are float32,
    rounded to even; None for others, and what has gaps.
    """
    if x.size <= _STEP or (x.dtype, dtype) not in _WRITES:
        return None
    order = contiguous_order(x)
    if order is None:
        return None
    write = _WRITES[x.dtype, dtype]
    made = numpy.empty(x.shape, dtype, order)
    source, target = line_of(x, order), line_of(made, order)

    def compute(begin: int, end: int) -> None:
        with Scratch() as memory:
            rooms = memory.view(numpy.int32)
            for start in range(begin * _STEP, min(end * _STEP, x.size), _STEP):
                block = source[start : start + _STEP]
                write(target[start : start + _STEP], rooms[:, : block.size], block)

    run_pieces(compute, -(-x.size // _STEP), x.size)
    return made


def _write_single(out: Any, rooms: Any, x: Any) -> None:
    if numpy.left_shift(x.view(numpy.uint16), 1).max() >= _NOT_FINITE:
        numpy.copyto(out, x)
        return
    bits = out.view(numpy.int32)
    numpy.copyto(bits, x.view(numpy.int16))
    numpy.left_shift(bits, _MOVED, bits)
    numpy.bitwise_and(bits, _WITHOUT_SIGNS, bits)
    numpy.multiply(out, _RAISE, out)


def _write_half(out: Any, rooms: Any, x: Any) -> None:
    size, other, small = rooms
    bits = x.view(numpy.int32)
    numpy.bitwise_and(bits, _ABSOLUTE, size)
    if size.max() >= _TOO_LARGE:
        numpy.copyto(out, x, casting="same_kind")
        return
    # Below the normal numbers a sum rounds; of those it is less than what the other way gives.
    near = small.view(_SINGLE)
    clip(size.view(_SINGLE), _ZERO, _LEAST_NORMAL, near)
    numpy.add(near, _GRID, near)
    numpy.subtract(small, _GRID_BITS, small)
    # Halfway between two numbers the one with an even last bit is nearest.
    numpy.right_shift(size, _MOVED, other)
    numpy.bitwise_and(other, _ONE, other)
    numpy.add(size, other, size)
    numpy.add(size, _ROUND, size)
    numpy.right_shift(size, _MOVED, size)
    numpy.maximum(size, small, out=size)
    numpy.right_shift(bits, _SIGN_MOVED, other)
    numpy.bitwise_and(other, _SIGN, other)
    numpy.bitwise_or(size, other, size)
    numpy.copyto(out.view(numpy.uint16), size, casting="unsafe")


_WRITES: Final = {(_HALF, _SINGLE): _write_single, (_SINGLE, _HALF): _write_half}
