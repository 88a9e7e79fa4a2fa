"""A vector as all columns, or all rows, of a matrix: on small matrices repeating it costs less than
having NumPy broadcast it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy

_FEW: Final = 256
"""Elements up to which a vector is repeated by a table that is kept."""
_KEPT: Final = 64


def across(column: Any, length: int) -> Any:
    """Return the vector `column` as the matrix with that column `length` times."""
    count = len(column)
    if count * length <= _FEW:
        return column.take(_rows_of_elements(count, length))
    return column.repeat(length).reshape(-1, length)


def down(row: Any, count: int) -> Any:
    """Return the vector `row` as the matrix with that row `count` times, or as what is broadcast to
    it where that costs less.
    """
    length = len(row)
    if count * length <= _FEW:
        return row.take(_columns_of_elements(count, length))
    return row


@lru_cache(_KEPT)
def _rows_of_elements(rows: int, columns: int) -> Any:
    """Return the matrix of the numbers of the rows that its elements are in."""
    return numpy.arange(rows).repeat(columns).reshape(rows, columns)


@lru_cache(_KEPT)
def _columns_of_elements(rows: int, columns: int) -> Any:
    """Return the matrix of the numbers of the columns that its elements are in."""
    return numpy.arange(rows * columns).reshape(rows, columns) % columns
