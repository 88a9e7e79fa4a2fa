"""Makes what fails in a random test smaller before it is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Parts = TypeVar("Parts", list[Any], tuple[Any, ...])


def smaller(parts: Parts, fails: Callable[[Parts], bool]) -> Parts:
    """Return the parts without those that are not needed for them to fail; at least one is left."""
    size = max(1, len(parts) // 2)
    while size:
        position = 0
        while position < len(parts):
            candidate = parts[:position] + parts[position + size :]
            if candidate and fails(candidate):
                parts = candidate
            else:
                position += size
        size //= 2
    return parts
