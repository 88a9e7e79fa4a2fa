"""float16 from float32 and back by steps on their bits, which NumPy has vector instructions for.

Its own conversion goes element by element.
"""

from __future__ import annotations

from typing import Any, Final

import numpy

from ..memory.scratch import BLOCK_BYTES, Scratch
from ..parallel.threads import run_pieces
from .blocks import contiguous_order, line_of
from .quick_functions import clip

__all__ = ["MANY", "converted", "write_half", "write_single"]

MANY: Final = 1 << 14
"""Elements from which the steps pay."""

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
_INFINITE, _MINUS_INFINITE = 0x7C00, 0xFC00
"""From here on numbers are infinite or NaN, as signed and as unsigned integers."""
_NOT_FINITE: Final = numpy.array(0xF800, numpy.uint16)
_INFINITE_HERE: Final = numpy.array(65536, _SINGLE)
"""What would come next to the greatest number of float16: its bits are those of infinity."""
_NAN, _FRACTION, _ABSOLUTE = _integer(0x7E00), _integer(0x1FF), _integer(0x7FFF)
_ZERO, _LEAST_NORMAL = numpy.array(0, _SINGLE), numpy.array(2.0**-14, _SINGLE)
_EXPONENT: Final = _integer(0x7F800000)
_COUNTING: Final = _integer((13 << 23) + 0x800)
"""Raises the exponent by the bits that float16 has not. The rest, added to the exponent that is cut
to 16 bits later, is the difference of the biases.
"""
_SIGN_MOVED, _SIGN = _integer(16), _integer(0x8000)


def converted(x: Any, dtype: Any) -> Any | None:
    """Return a copy of many elements in float32 that are float16, or in float16 that are float32,
    rounded to even; None for others, and what has gaps.
    """
    if x.size < MANY or (x.dtype, dtype) not in _WRITES:
        return None
    order = contiguous_order(x)
    if order is None:
        return None
    write = _WRITES[x.dtype, dtype]
    made = numpy.empty(x.shape, dtype, order)
    source, target = line_of(x, order), line_of(made, order)

    def compute(begin: int, end: int) -> None:
        with Scratch() as memory:
            rooms = memory[:3].view(numpy.int32)
            for start in range(begin * _STEP, min(end * _STEP, x.size), _STEP):
                block = source[start : start + _STEP]
                write(target[start : start + _STEP], rooms[:, : block.size], block)

    run_pieces(compute, -(-x.size // _STEP), x.size)
    return made


def write_single(out: Any, x: Any) -> None:
    """Write float16 numbers `x` to `out`, of float32."""
    signed, unsigned = x.view(numpy.int16), x.view(numpy.uint16)
    bits = out.view(numpy.int32)
    numpy.copyto(bits, signed)
    numpy.left_shift(bits, _MOVED, bits)
    numpy.bitwise_and(bits, _WITHOUT_SIGNS, bits)
    numpy.multiply(out, _RAISE, out)
    if signed.max() >= _INFINITE or unsigned.max() >= _MINUS_INFINITE:
        # Infinities and NaN have the greatest exponent here too.
        odd = numpy.greater_equal(numpy.left_shift(unsigned, 1), _NOT_FINITE)
        numpy.bitwise_or(bits, numpy.multiply(odd, _EXPONENT), bits)


def write_half(out: Any, room: Any, other: Any, x: Any) -> None:
    """Write float32 numbers `x` to `out`, of float16, rounded to even. The rooms, of int32, are
    written over.
    """
    size, bits = other.view(_SINGLE), x.view(numpy.int32)
    numpy.absolute(x, size)
    greatest = size.max()
    if not greatest <= _INFINITE_HERE:
        clip(size, _ZERO, _INFINITE_HERE, size)
    # The sum with a power of two is rounded to how far apart the numbers of float16 are here: its
    # last bits count them, and with its exponent they are the number.
    power = room.view(_SINGLE)
    clip(size, _LEAST_NORMAL, _INFINITE_HERE, power)
    numpy.bitwise_and(room, _EXPONENT, room)
    numpy.add(room, _COUNTING, room)
    numpy.add(size, power, size)
    numpy.right_shift(other, _MOVED, room)
    numpy.add(room, other, room)
    if greatest != greatest:
        _write_nan(room, other, bits, numpy.isnan(x))
    numpy.right_shift(bits, _SIGN_MOVED, other)
    numpy.bitwise_and(other, _SIGN, other)
    numpy.bitwise_or(room, other, room)
    numpy.copyto(out.view(numpy.uint16), room, casting="unsafe")


def _write_nan(room: Any, other: Any, bits: Any, where: Any) -> None:
    """Write NaN, with what is left of the fractions, to `room`."""
    numpy.right_shift(bits, _MOVED, other)
    numpy.bitwise_and(other, _FRACTION, other)
    numpy.bitwise_or(other, _NAN, other)
    numpy.bitwise_xor(other, room, other)
    numpy.multiply(other, where, other)
    numpy.bitwise_xor(room, other, room)
    # The sign is put beside: above it nothing may be left.
    numpy.bitwise_and(room, _ABSOLUTE, room)


def _write_single(out: Any, rooms: Any, x: Any) -> None:
    write_single(out, x)


def _write_half(out: Any, rooms: Any, x: Any) -> None:
    write_half(out, rooms[0], rooms[1], x)


_WRITES: Final = {(_HALF, _SINGLE): _write_single, (_SINGLE, _HALF): _write_half}
