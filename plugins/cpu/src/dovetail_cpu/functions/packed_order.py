"""Stable orders by sorting integers: an element and its place are packed into one number.

NumPy has vector instructions for sorting numbers, and none for finding their order; integers of a
small range it sorts by their digits.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy
import numpy as np

from dovetail_aten.kernel_support import Sorted

from ..parallel.threads import run_pieces

_SINGLE: Final = numpy.dtype(numpy.float32)
_LONG: Final = numpy.dtype(numpy.int64)
_BITS: Final = 63
_MANY: Final = 1 << 10
"""Elements from which packing pays."""
_DIGITS: Final = 1 << 16
"""Different integers up to which they are sorted by digits: two passes over elements of 16 bits."""


@lru_cache(64)
def _last_place(length: int) -> Any:
    """Return ``length - 1`` as an array, which NumPy takes faster than a number."""
    return numpy.array(length - 1)


def _keys_of_floats(rows: np.ndarray) -> Any:
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


def packed_rows(rows: np.ndarray, descending: bool) -> tuple[Any, int] | None:
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


def _digits(rows: np.ndarray, descending: bool) -> Any | None:
    """Return integers of 8 or 16 bits in the order of those in `rows`; None if they differ by more,
    or are no integers.
    """
    if rows.dtype.kind not in "biu":
        return None
    if rows.dtype.itemsize > 1:
        least, greatest = rows.min(), rows.max()
        if int(greatest) - int(least) >= _DIGITS:
            return None
        # Differences wrap around, and so come out right whatever the dtype.
        away = numpy.subtract(greatest, rows) if descending else numpy.subtract(rows, least)
        return away.astype(numpy.uint16)
    keys = rows.view(numpy.uint8)
    if rows.dtype.kind == "i":
        keys = numpy.bitwise_xor(keys, 0x80)
    return numpy.invert(keys) if descending else keys


class PackedOrder(Sorted):
    """Orders of many elements by packed numbers."""

    def _order(self, x: np.ndarray, axis: int, descending: bool) -> Any:
        """Return the stable order along `axis`."""
        if x.size < _MANY or not x.shape[axis]:
            if axis != x.ndim - 1:
                return Sorted._order(self, x, axis, descending)
            keys = self._sortable(x)
            if not descending:
                return keys.argsort(-1, "stable")
            # As the generic kernel does it, by views that are no calls.
            backwards = keys[..., ::-1].argsort(-1, "stable")
            return numpy.subtract(_last_place(x.shape[axis]), backwards[..., ::-1], order="C")
        rows = numpy.ascontiguousarray(numpy.moveaxis(self._sortable(x), axis, -1))
        digits = _digits(rows, descending)
        if digits is not None:
            return self._order_of_digits(digits, axis)
        found = packed_rows(rows, descending)
        if found is None:
            return Sorted._order(self, x, axis, descending)
        packed, shift = found
        lines = packed.reshape(-1, rows.shape[-1])
        run_pieces(lambda start, stop: lines[start:stop].sort(-1), len(lines), packed.size)
        numpy.bitwise_and(packed, (1 << shift) - 1, out=packed)
        return numpy.ascontiguousarray(numpy.moveaxis(packed, -1, axis))

    def _order_of_digits(self, keys: np.ndarray, axis: int) -> Any:
        """Return the stable order along the last dimension of integers of few digits, along
        `axis`.
        """
        lines = keys.reshape(-1, keys.shape[-1])
        order = numpy.empty(lines.shape, _LONG)

        def find(start: int, stop: int) -> None:
            order[start:stop] = lines[start:stop].argsort(-1, kind="stable")

        run_pieces(find, len(lines), lines.size)
        return numpy.ascontiguousarray(numpy.moveaxis(order.reshape(keys.shape), -1, axis))
