"""Softmax with a dtype, of the kernels without."""

from __future__ import annotations

from typing import Any

from dovetail_aten._generated import functions as F


def softmax(self: Any, dim: int, dtype: Any = None) -> Any:
    """Return softmax along `dim`, computed in `dtype`."""
    return F._softmax(self if dtype is None else F.to(self, dtype), dim, False)


def log_softmax(self: Any, dim: int, dtype: Any = None) -> Any:
    """Return the logarithm of softmax along `dim`, computed in `dtype`."""
    return F._log_softmax(self if dtype is None else F.to(self, dtype), dim, False)
