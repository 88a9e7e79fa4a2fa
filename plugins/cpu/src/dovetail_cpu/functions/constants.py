"""Arrays that are the same for every call, made once: a product with ones is BLAS's way to sum;
NumPy's loops want two full operands. They must not be written to.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy

_KEPT: Final = 64


@lru_cache(_KEPT)
def ones_of(length: int, dtype: object) -> Any:
    """Return a vector of `length` ones."""
    return numpy.ones(length, dtype)


@lru_cache(_KEPT)
def zeros_of(shape: tuple[int, ...], dtype: object) -> Any:
    """Return zeros of `shape`, which is small, in C order."""
    return numpy.zeros(shape, dtype)


@lru_cache(_KEPT)
def numbers_below(count: int) -> Any:
    """Return the numbers below `count`."""
    return numpy.arange(count)
