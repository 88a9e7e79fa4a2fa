"""The greatest or least of many numbers without sorting them: few pass a bound that is quickly
found.

The elements are split into groups. Of the greatest of every group, the k-th greatest is a bound
that at least k elements reach, and seldom many more.
"""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np

_LEAST_GROUPS = 64
_FACTOR = 4
"""How many times k groups there are, and how many times k elements may pass."""


def top_of_rows(rows: np.ndarray, k: int, largest: bool) -> tuple[Any, Any] | None:
    """Return the values and columns of the `k` greatest, or least, elements of each row, in order.

    Parameters
    ----------
    rows
        A C-contiguous float32 or float64 matrix.
    k
        Positive, and much less than the length of a row.
    largest
        The greatest or the least.

    Returns
    -------
    tuple or None
        ``(values, indices)``; among equal elements the first come first. None if there are NaN, or
        so many equal elements that nothing is won.
    """
    count, length = rows.shape
    groups = max(_LEAST_GROUPS, _FACTOR * k, isqrt(length))
    size = length // groups
    if size < _FACTOR:
        return None
    extreme: Any = np.maximum.reduce if largest else np.minimum.reduce
    best = extreme(rows[:, : size * groups].reshape(count, size, groups), 1)
    if size * groups < length:
        best = np.concatenate([best, extreme(rows[:, size * groups :], 1, keepdims=True)], 1)
    if np.isnan(best).any():
        return None
    place = best.shape[1] - k if largest else k - 1
    bound = np.partition(best, place, -1)[:, place, None]
    found = np.flatnonzero(rows >= bound if largest else rows <= bound)
    if found.size > _FACTOR * k * count:
        return None
    values = rows.reshape(-1).take(found)
    row, column = np.divmod(found, length)
    order = np.lexsort((-values if largest else values, row))
    starts = np.searchsorted(row, np.arange(count))
    chosen = order[starts[:, None] + np.arange(k)]
    return values[chosen], column[chosen]
