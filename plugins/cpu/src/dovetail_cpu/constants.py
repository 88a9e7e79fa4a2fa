"""Arrays of one number, made once: a product with ones is BLAS's way to sum; NumPy's loops want two full operands."""

from __future__ import annotations

from typing import Any, Final

import numpy

_KEPT: Final = 64
_ones: dict[tuple[int, Any], Any] = {}
_zeros: dict[tuple[tuple[int, ...], Any], Any] = {}


def ones_of(length: int, dtype: Any) -> Any:
    """Return a vector of `length` ones, which must not be written to."""
    found = _ones.get((length, dtype))
    if found is None:
        if len(_ones) >= _KEPT:
            _ones.clear()
        found = _ones[length, dtype] = numpy.ones(length, dtype)
    return found


def zeros_of(shape: tuple[int, ...], dtype: Any) -> Any:
    """Return zeros of `shape`, which is small, in C order; they must not be written to."""
    found = _zeros.get((shape, dtype))
    if found is None:
        if len(_zeros) >= _KEPT:
            _zeros.clear()
        found = _zeros[shape, dtype] = numpy.zeros(shape, dtype)
    return found
