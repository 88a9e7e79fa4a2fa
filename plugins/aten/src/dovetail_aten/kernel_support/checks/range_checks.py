"""Checks of the bounds of ranges."""

from __future__ import annotations

from math import inf
from typing import Any


def check_range(start: Any, end: Any, step: Any) -> None:
    """Raise an error for a range of complex numbers, and one that never ends. Raises RuntimeError
    with PyTorch's message.
    """
    for number in (start, end, step):
        if isinstance(number, complex):
            raise RuntimeError(
                f"value cannot be converted to type double without overflow: {number!r}. Give "
                "real bounds."
            )
    if not abs(step) > 0:
        raise RuntimeError(f"step must be nonzero: the range {start} -> {end} would never end")
    if not all([-inf < bound < inf for bound in (start, end)]):
        raise RuntimeError(f"unsupported range: {start} -> {end}. Give finite bounds.")
    if (end - start) * (1 if step > 0 else -1) < 0:
        raise RuntimeError(
            f"upper bound and lower bound inconsistent with step sign: {start} -> {end} by {step}"
        )
