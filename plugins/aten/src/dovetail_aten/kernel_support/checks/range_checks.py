"""Checks of the bounds of ranges, and of other numbers that have to be real."""

from __future__ import annotations

from math import inf
from typing import Any


def double_of(number: Any) -> Any:
    """Return a real number itself, and the real part of a complex one. Raises RuntimeError, with
    PyTorch's message, if that leaves something out.
    """
    if not isinstance(number, complex):
        return number
    if number.imag:
        raise _no_double(number)
    return number.real


def _no_double(number: complex) -> RuntimeError:
    return RuntimeError(
        f"value cannot be converted to type double without overflow: {number!r}. Give a "
        "real number."
    )


def check_range(start: Any, end: Any, step: Any) -> None:
    """Raise an error for a range of complex numbers, and one that never ends. Raises RuntimeError
    with PyTorch's message.
    """
    for number in (start, end, step):
        if isinstance(number, complex):
            raise _no_double(number)
    if not abs(step) > 0:
        raise RuntimeError(f"step must be nonzero: the range {start} -> {end} would never end")
    if not all([-inf < bound < inf for bound in (start, end)]):
        raise RuntimeError(f"unsupported range: {start} -> {end}. Give finite bounds.")
    if (end - start) * (1 if step > 0 else -1) < 0:
        raise RuntimeError(
            f"upper bound and lower bound inconsistent with step sign: {start} -> {end} by {step}"
        )
