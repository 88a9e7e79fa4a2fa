"""Python numbers as a dtype holds them: integers of 64 bits wrap, as in C and PyTorch."""

from __future__ import annotations

from math import isfinite
from typing import Any

from dovetail_kernel import bool as bool_
from dovetail_kernel import dtype
from dovetail_kernel.types import COMPLEX, INT

_LEAST_INT64 = -(1 << 63)


def number_as(value: Any, wanted: dtype) -> Any:
    """Convert a Python number to the dtype `wanted`: integers wrap, and floats are truncated in an
    integer dtype.

    Raises
    ------
    OverflowError
        For an integer dtype, if the number is an integer of more than 64 bits.
    RuntimeError
        For a complex number with an imaginary part in a real dtype, or an integer too large for a
        float.
    """
    if wanted is bool_:
        return bool(value)
    if isinstance(value, complex) and wanted.category < COMPLEX:
        if value.imag:
            raise RuntimeError(
                f"value cannot be converted to type {wanted.name} without overflow: {value!r}. "
                "Take its real part."
            )
        value = value.real
    if wanted.category == INT:
        if isinstance(value, int) and not _LEAST_INT64 <= value < 1 << 64:
            raise OverflowError(
                f"int too big to convert: {value} does not fit into 64 bits. Give a smaller "
                "number, or a float."
            )
        # What C leaves open for infinity and NaN is what x86 does.
        return _wrapped(
            _LEAST_INT64 if isinstance(value, float) and not isfinite(value) else int(value), wanted
        )
    try:
        return complex(value) if wanted.category == COMPLEX else float(value)
    except OverflowError:
        raise RuntimeError(
            f"value cannot be converted to type {wanted.name} without overflow: {value!r}. Give a "
            "smaller number."
        ) from None


def _wrapped(value: int, wanted: dtype) -> int:
    bits = 8 * wanted.itemsize
    value &= (1 << bits) - 1
    return value - (1 << bits) if wanted.is_signed and value >> (bits - 1) else value
