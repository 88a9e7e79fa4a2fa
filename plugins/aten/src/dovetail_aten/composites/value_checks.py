"""Whether a composite may look at the values of a tensor, to refuse those that are none."""

from __future__ import annotations

from typing import Any

__all__ = ["can_be_looked_at"]


def can_be_looked_at(tensor: Any) -> bool:
    """Return whether values are there: not on the meta device, inside of a transform, or of a
    backend that computes them only later.
    """
    backend = tensor._backend
    return not (tensor.is_meta or not backend.is_device or getattr(backend.arrays, "lazy", False))
