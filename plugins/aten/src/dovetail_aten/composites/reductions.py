"""Reductions in terms of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_aten._generated import functions as F


def var_unbiased(self: Any, unbiased: bool = True) -> Any:
    """Return the variance of all elements."""
    return F.var_correction(self, None, correction=int(unbiased))


def var_dim(
    self: Any, dim: Sequence[int] | None, unbiased: bool = True, keepdim: bool = False
) -> Any:
    """Return the variance over dimensions."""
    return F.var_correction(self, dim, correction=int(unbiased), keepdim=keepdim)


def std_unbiased(self: Any, unbiased: bool = True) -> Any:
    """Return the standard deviation of all elements."""
    return F.std_correction(self, None, correction=int(unbiased))


def std_dim(
    self: Any, dim: Sequence[int] | None, unbiased: bool = True, keepdim: bool = False
) -> Any:
    """Return the standard deviation over dimensions."""
    return F.std_correction(self, dim, correction=int(unbiased), keepdim=keepdim)


def norm(self: Any, p: Any = 2, dim: Sequence[int] | None = None, keepdim: bool = False) -> Any:
    """Return the `p`-norm, over all elements by default."""
    return F.linalg_vector_norm(self, 2 if p is None else p, dim, keepdim)


def argsort(self: Any, dim: int = -1, descending: bool = False) -> Any:
    """Return the indices that sort `self` along `dim`."""
    return F.sort(self, dim, descending)[1]


def value_selecting_reduction_backward(
    grad: Any, dim: int, indices: Any, sizes: Sequence[int], keepdim: bool
) -> Any:
    """Return zeros of shape `sizes` with `grad` at `indices` along `dim`."""
    if not keepdim and sizes:
        grad, indices = F.unsqueeze(grad, dim), F.unsqueeze(indices, dim)
    return F.scatter(F.new_zeros(grad, sizes), dim, indices, grad)
