"""The extrema of the rows of a matrix, from the places where they are: NumPy has vector
instructions for finding these, and reduces rows one number after the other.
"""

from __future__ import annotations

from typing import Any, Final

import numpy

from .constants import starts_of_rows

_FLOATS: Final = (numpy.dtype(numpy.float32), numpy.dtype(numpy.float64))
_MANY: Final = 1 << 14
"""Elements from which looking whether there are rows pays."""
_MOST: Final = 1 << 12
"""Rows up to which it is kept where they begin."""


def extrema_of_rows(rows: Any, find: Any) -> Any:
    """Return the extrema that `find`, a method of arrays, finds along the rows of a matrix in C
    order; NaN where a row has one.
    """
    count, length = rows.shape
    starts = starts_of_rows(count, length) if count <= _MOST else numpy.arange(count) * length
    return rows.reshape(-1).take(numpy.add(find(rows, 1), starts))


def extrema_of_last(x: Any, find: Any, keepdim: bool) -> Any | None:
    """Return the extrema along the last dimension of many floats in C order; None for others."""
    if x.size < _MANY or x.ndim < 2 or x.dtype not in _FLOATS or not x.flags.c_contiguous:
        return None
    *lead, length = x.shape
    made = extrema_of_rows(x.reshape(-1, length), find)
    return made.reshape(*lead, 1) if keepdim else made.reshape(lead)
