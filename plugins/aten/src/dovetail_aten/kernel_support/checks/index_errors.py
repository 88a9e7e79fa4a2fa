"""Errors of indices out of bounds."""

from __future__ import annotations

from ...typing import Array


def no_place(size: int, index: Array) -> Exception:
    """Return the error for an index that is out of range for an array of `size` elements."""
    return IndexError(
        f"out of range: tried to access index {int(index)} on a tensor of {size} elements."
    )
