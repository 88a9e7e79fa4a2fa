"""Units of time, and significant digits."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, isfinite, log10
from typing import Any, Final

_ENGLISH: Final = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}
_SECONDS: Final = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}


def ordered_unique(elements: Iterable[object]) -> list[Any]:
    """Return the elements without duplicates, in the order of their first occurrence."""
    return list(dict.fromkeys(elements))


def select_unit(t: float) -> tuple[str, float]:
    """Return the best unit for a time in seconds, and the length of the unit in seconds."""
    unit = next(
        iter([name for name, size in reversed(_SECONDS.items()) if t >= size * 0.99999]), "ns"
    )
    return unit, _SECONDS[unit]


def unit_to_english(u: str) -> str:
    """Return the name of a unit: ``"us"`` is ``"microsecond"``."""
    return _ENGLISH[u]


def trim_sigfig(x: float, n: int) -> float:
    """Return a number rounded to `n` significant digits."""
    if x == 0 or not isfinite(x):
        return x
    scale = 10 ** (ceil(log10(abs(x))) - n)
    return float(round(x / scale) * scale)
