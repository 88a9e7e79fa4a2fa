"""Products of rows: each factor of a product waits for the one before, so halves of rows are
multiplied by each other.
"""

from __future__ import annotations

from typing import Any, Final

import numpy

_SHORT: Final = 32
"""Length of rows from which halving them pays."""
_FEW: Final = 1 << 10
"""Rows from which they are multiplied side by side."""
_multiply: Any = numpy.multiply.reduce


def product_of_rows(x: Any, axis: int | None, keepdim: bool) -> Any:
    """Return the products of rows, half of each by the other half as long as they are long: NumPy
    has vector instructions for that.
    """
    rows = x.reshape(1, -1) if axis is None else x.reshape(-1, x.shape[-1])
    while rows.shape[1] > _SHORT:
        half = rows.shape[1] // 2
        halved = numpy.multiply(rows[:, :half], rows[:, half : 2 * half])
        if rows.shape[1] % 2:
            numpy.multiply(halved[:, :1], rows[:, -1:], out=halved[:, :1])
        rows = halved
    # Many short rows are multiplied side by side.
    aside = len(rows) >= _FEW
    products = _multiply(numpy.ascontiguousarray(rows.T), 0) if aside else _multiply(rows, 1)
    if axis is None:
        return products.reshape((1,) * x.ndim if keepdim else ())
    return products.reshape(*x.shape[:-1], 1) if keepdim else products.reshape(x.shape[:-1])
