"""Errors of indices out of bounds."""

from __future__ import annotations

from ...typing import Array


def no_place(size: int, index: Array) -> Exception:
    """Return the error for what is no place of an array of `size` elements."""
    return IndexError(
        f"out of range: tried to access index {int(index)} on a tensor of {size} elements."
    )
