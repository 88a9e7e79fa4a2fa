"""``a * b + c`` rounded once, as the fused instructions of processors do it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..silence import silent

Array = np.ndarray[Any, Any]

_SPLIT: Final = 134217729.0
"""2**27 + 1: splits 53 bits into two halves, whose products are exact (Dekker 1971,
doi:10.1007/BF01397083).
"""
_DOUBLE: Final = np.dtype(np.float64)


@silent
def multiply_add(a: Array, b: float, c: float) -> Array:
    """Return ``a * b + c`` in the dtype of `a`, float32 or float64, rounded once.

    `b` and `c` are rounded to that dtype first.
    """
    if a.dtype != _DOUBLE:
        kind = a.dtype.type
        wide = a.astype(_DOUBLE)
        wide *= float(kind(b))
        wide += float(kind(c))
        return wide.astype(a.dtype)
    product = a * b
    if c == 0 or b == 1:
        product += c
        return product
    found = product + c
    rounded = found - product
    lost = (product - (found - rounded)) + (c - rounded)
    lost += _error_of_product(a, b, product)
    lost += found
    # Beyond the greatest number there is nothing to correct.
    return np.where(np.isfinite(lost), lost, found)


def _error_of_product(a: Array, b: float, product: Array) -> Array:
    """Return what rounding took off ``a * b``."""
    upper = a * _SPLIT
    upper -= upper - a
    lower = a - upper
    b_upper = b * _SPLIT - (b * _SPLIT - b)
    b_lower = b - b_upper
    error = upper * b_upper - product
    error += upper * b_lower
    error += lower * b_upper
    error += lower * b_lower
    return error
