"""NumPy's functions and ufuncs of tensors that require grad, or belong to a transform."""

from __future__ import annotations

from .attributes import ArrayFunction, array_ufunc

__all__ = ["ArrayFunction", "array_ufunc"]
