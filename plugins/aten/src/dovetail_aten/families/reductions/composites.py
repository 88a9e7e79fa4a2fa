"""Reductions in terms of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_kernel import dtype as DType
from dovetail_kernel.types import FLOAT

from ...typing import Tensor


def var_unbiased(self: Tensor, unbiased: bool = True) -> Any:
    """Return the variance of all elements."""
    return F.var_correction(self, None, correction=int(unbiased))


def var_dim(
    self: Tensor, dim: Sequence[int] | None, unbiased: bool = True, keepdim: bool = False
) -> Any:
    """Return the variance over dimensions."""
    return F.var_correction(self, dim, correction=int(unbiased), keepdim=keepdim)


def std_unbiased(self: Tensor, unbiased: bool = True) -> Any:
    """Return the standard deviation of all elements."""
    return F.std_correction(self, None, correction=int(unbiased))


def std_dim(
    self: Tensor, dim: Sequence[int] | None, unbiased: bool = True, keepdim: bool = False
) -> Any:
    """Return the standard deviation over dimensions."""
    return F.std_correction(self, dim, correction=int(unbiased), keepdim=keepdim)


def var_mean_unbiased(self: Tensor, unbiased: bool = True) -> Any:
    """Return the variance and the mean of all elements."""
    return F.var_mean_correction(self, None, correction=int(unbiased))


def var_mean_dim(
    self: Tensor, dim: Sequence[int] | None, unbiased: bool = True, keepdim: bool = False
) -> Any:
    """Return the variance and the mean over dimensions."""
    return F.var_mean_correction(self, dim, correction=int(unbiased), keepdim=keepdim)


def std_mean_unbiased(self: Tensor, unbiased: bool = True) -> Any:
    """Return the standard deviation and the mean of all elements."""
    return F.std_mean_correction(self, None, correction=int(unbiased))


def std_mean_dim(
    self: Tensor, dim: Sequence[int] | None, unbiased: bool = True, keepdim: bool = False
) -> Any:
    """Return the standard deviation and the mean over dimensions."""
    return F.std_mean_correction(self, dim, correction=int(unbiased), keepdim=keepdim)


def nanmean(
    self: Tensor,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Any:
    """Return the mean over dimensions of what is not NaN."""
    if self.dtype.category < FLOAT:
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{self.dtype.scalar_name}. Convert the tensor."
        )
    if dtype is not None and dtype.category < FLOAT:
        raise RuntimeError(
            "nanmean(): could not infer output dtype. Optional dtype must be either a floating "
            f"point or complex dtype. Got: {dtype.scalar_name}. Give another one."
        )
    total = F.nansum(self, dim, keepdim, dtype=dtype)
    fixed = F.detach(self)
    return F.div(total, F.sum(F.eq(fixed, fixed), dim, keepdim))


def norm(self: Tensor, p: Any = 2, dim: Sequence[int] | None = None, keepdim: bool = False) -> Any:
    """Return the `p`-norm, over all elements by default."""
    return F.linalg_vector_norm(self, 2 if p is None else p, dim, keepdim)


def argsort(self: Tensor, dim: int = -1, descending: bool = False) -> Any:
    """Return the indices that sort `self` along `dim`."""
    return F.sort(self, dim, descending)[1]


def argsort_stable(self: Tensor, *, stable: bool, dim: int = -1, descending: bool = False) -> Any:
    """Return the indices that sort `self` along `dim`."""
    return F.sort_stable(self, stable=stable, dim=dim, descending=descending)[1]


def msort(self: Tensor) -> Any:
    """Return the elements sorted along the first dimension."""
    return F.sort(self, 0)[0]


argwhere = F.nonzero


def nonzero_numpy(self: Tensor) -> Any:
    """Return the places of all elements that are not zero, a tensor for each dimension."""
    places = F.nonzero(F.unsqueeze(self, 0) if not self.dim() else self)
    return tuple(F.unbind(places, 1))


def value_selecting_reduction_backward(
    grad: Tensor, dim: int, indices: Tensor, sizes: Sequence[int], keepdim: bool
) -> Any:
    """Return zeros of shape `sizes` with `grad` at `indices` along `dim`."""
    if not keepdim and sizes:
        grad, indices = F.unsqueeze(grad, dim), F.unsqueeze(indices, dim)
    return F.scatter(F.new_zeros(grad, sizes), dim, indices, grad)
