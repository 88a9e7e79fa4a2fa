"""Tells numbers from other values, without importing NumPy."""

from __future__ import annotations

import sys
from typing import Any


def is_number(value: Any) -> bool:
    """Return whether a value is a Python or NumPy number, bools included."""
    if isinstance(value, int | float | complex):
        return True
    return is_numpy_scalar(value) and isinstance(value.item(), int | float | complex)


def is_numpy_scalar(value: Any) -> bool:
    """Return whether a value is a NumPy scalar, of whatever kind."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)
