"""Arguments that every maker of tensors takes and checks: dtypes and numbers."""

from __future__ import annotations

from math import isfinite
from typing import Any

from dovetail_kernel import PYTHON_DTYPES, NamedDtype, dtype, scalar_category


def as_dtype(value: Any, function: str) -> dtype | None:
    """Return a dtype given as such or as a Python class of numbers; None stays None. Raises
    TypeError for anything else, and NotImplementedError for a dtype that is a name alone.
    """
    if value is None or value.__class__ is dtype:
        found: dtype | None = value
        return found
    if isinstance(value, type) and value in PYTHON_DTYPES:
        return PYTHON_DTYPES[value]
    if isinstance(value, NamedDtype):
        raise value.refusal()
    raise TypeError(
        f"{function}(): argument 'dtype' must be dovetail.dtype, not {type(value).__name__}. Give "
        "one such as "
        "dovetail.float32."
    )


def check_number(value: Any, wanted: dtype) -> None:
    """Raise an error for a number that `wanted` cannot hold.

    Raises
    ------
    RuntimeError
        "value cannot be converted to type int8 without overflow".
    """
    kind = scalar_category(value)
    fits = kind <= wanted.category or wanted.category == 0
    if kind == 3 and wanted.category not in (0, 3):
        fits = value.imag == 0
        value = value.real
    if wanted.category == 1:
        low, high = _integer_range(wanted)
        # As in PyTorch, a negative number wraps in an unsigned dtype.
        fits = isfinite(value) and (-high if not wanted.is_signed else low) <= value <= high
    elif wanted.category == 2:
        fits = kind < 3 or fits
    if not fits:
        raise RuntimeError(
            f"value cannot be converted to type {wanted.name} without overflow: {value}. Choose a "
            "wider dtype."
        )


def _integer_range(wanted: dtype) -> tuple[int, int]:
    """Return the smallest and largest number of an integer dtype."""
    bits = 8 * wanted.itemsize - wanted.is_signed
    return -(1 << bits) if wanted.is_signed else 0, (1 << bits) - 1
