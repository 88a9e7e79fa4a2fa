"""Stable orders by sorting integers: an element and its place are packed into one number.

NumPy has vector instructions for sorting numbers, and none for finding their order.
"""

from __future__ import annotations

from typing import Any, Final

import numpy

from dovetail_aten.array_kernels.sorted import Sorted

from .threads import run_pieces

__all__ = ["PackedOrder", "packed_rows"]

_SINGLE: Final = numpy.dtype(numpy.float32)
_LONG: Final = numpy.dtype(numpy.int64)
_BITS: Final = 63
_MANY: Final = 1 << 10
"""Elements from which packing pays."""


def _keys_of_floats(rows: Any) -> Any:
    """Return integers in the order of float32 numbers: 0 and -0 alike, NaN last."""
    made = numpy.add(rows, _SINGLE.type(0))
    bits = made.view(numpy.int32)
    nan = numpy.isnan(made)
    if nan.any():
        made[nan] = numpy.nan
    # Of negative numbers the other bits run backwards.
    flipped = numpy.right_shift(bits, 31)
    numpy.bitwise_and(flipped, 0x7FFFFFFF, out=flipped)
    return numpy.bitwise_xor(bits, flipped, out=bits)


def packed_rows(rows: Any, descending: bool) -> tuple[Any, int] | None:
    """Return numbers in the order of elements along the last dimension, whose lower bits are the
    place, and the number of these bits; None if 64 bits do not hold both.
    """
    length = rows.shape[-1]
    shift = (length - 1).bit_length()
    kind, size = rows.dtype.kind, rows.dtype.itemsize
    if kind == "f" and size <= 4:
        keys = _keys_of_floats(rows.astype(_SINGLE, copy=False))
    elif kind in "bu" or (kind == "i" and size <= 4):
        if size == 8:
            return None
        keys = rows
    elif kind == "i":
        least, greatest = int(rows.min()), int(rows.max())
        if (greatest - least).bit_length() + shift > _BITS:
            return None
        keys = rows - least
    else:
        return None
    packed = keys.astype(_LONG)
    if descending:
        numpy.invert(packed, out=packed)
    numpy.left_shift(packed, shift, out=packed)
    numpy.bitwise_or(packed, numpy.arange(length), out=packed)
    return packed, shift


class PackedOrder(Sorted):
    """Orders of many elements by packed numbers."""

    def _order(self, x: Any, axis: int, descending: bool) -> Any:
        """Return the stable order along `axis`."""
        if x.size < _MANY or not x.shape[axis]:
            return Sorted._order(self, x, axis, descending)
        rows = numpy.ascontiguousarray(numpy.moveaxis(self._sortable(x), axis, -1))
        found = packed_rows(rows, descending)
        if found is None:
            return Sorted._order(self, x, axis, descending)
        packed, shift = found
        lines = packed.reshape(-1, rows.shape[-1])
        run_pieces(lambda start, stop: lines[start:stop].sort(-1), len(lines), packed.size)
        numpy.bitwise_and(packed, (1 << shift) - 1, out=packed)
        return numpy.ascontiguousarray(numpy.moveaxis(packed, -1, axis))
