"""Tells numbers from other values, without importing NumPy."""

from __future__ import annotations

import sys

from dovetail_kernel import TensorBase


def is_number(value: object) -> bool:
    """Return whether a value is a Python number, including bools, or a NumPy scalar number."""
    return isinstance(value, int | float | complex) or numpy_number(value) is not None


def stands_for_number(value: object) -> bool:
    """Return whether public functions accept a value as a number: a 0-dimensional tensor that does
    not require grad.
    """
    return isinstance(value, TensorBase) and value.ndim == 0 and not value.requires_grad


def numpy_number(value: object) -> int | float | complex | None:
    """Return the number in a NumPy scalar, or in an array of no dimensions; None for tensors and
    anything else.
    """
    if isinstance(value, TensorBase) or getattr(value, "shape", None) != ():
        return None
    item = getattr(value, "item", None)
    number = None if item is None else item()
    return number if isinstance(number, int | float | complex) else None


def is_numpy_scalar(value: object) -> bool:
    """Return whether a value is a NumPy scalar of any kind."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)
