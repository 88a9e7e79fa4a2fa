"""Reductions: some dimensions go or become 1. And what scans or orders along one dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_kernel import bool as bool_
from dovetail_kernel import dtype as DType
from dovetail_kernel import int64, uint8

from ..kernel_support.dims import wrap_dim, wrap_dims
from .meta_array import MetaArray
from .table import dense_like, like

Dims = int | Sequence[int] | None


def reduced(self: MetaArray, dim: Dims, keepdim: bool, dtype: DType) -> MetaArray:
    """Return the result of a reduction over `dim`: None or nothing named means all dimensions."""
    dims = wrap_dims(dim, self.ndim)
    if keepdim:
        return MetaArray([1 if i in dims else n for i, n in enumerate(self.shape)], dtype)
    return MetaArray([n for i, n in enumerate(self.shape) if i not in dims], dtype)


def mean(
    self: MetaArray, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None
) -> MetaArray:
    wanted = dtype or self.dtype
    if wanted.category < 2:
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or "
            "complex dtype. "
            f"Got: {wanted.scalar_name}. Give dtype=, or convert the tensor."
        )
    return reduced(self, dim, keepdim, wanted)


def amax(self: MetaArray, dim: Dims = (), keepdim: bool = False) -> MetaArray:
    dims = wrap_dims(dim, self.ndim)
    _refuse_empty(self, dims, "amax")
    return reduced(self, dims or None, keepdim, self.dtype)


def extreme(self: MetaArray) -> MetaArray:
    _refuse_empty(self, tuple(range(self.ndim)), "max")
    return like(self, ())


def extreme_along(self: MetaArray, dim: int, keepdim: bool = False) -> tuple[MetaArray, MetaArray]:
    return _one(self, dim, keepdim, self.dtype), _one(self, dim, keepdim, int64)


def argmax(self: MetaArray, dim: int | None = None, keepdim: bool = False) -> MetaArray:
    if dim is None:
        _refuse_empty(self, tuple(range(self.ndim)), "argmax")
    return reduced(self, dim, keepdim, int64)


def aminmax(
    self: MetaArray, *, dim: int | None = None, keepdim: bool = False
) -> tuple[MetaArray, MetaArray]:
    if dim is None and not self.size:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
            "identity."
        )
    if dim is not None:
        return _one(self, dim, keepdim, self.dtype), _one(self, dim, keepdim, self.dtype)
    return reduced(self, dim, keepdim, self.dtype), reduced(self, dim, keepdim, self.dtype)


def tested_over(self: MetaArray, dim: Dims = None, keepdim: bool = False) -> MetaArray:
    dtype = uint8 if self.dtype is uint8 else bool_
    if dim is not None and not isinstance(dim, int) and not dim:
        return like(self, dtype=dtype)
    return reduced(self, dim, keepdim, dtype)


def var_mean(
    self: MetaArray, dim: Dims = None, *, correction: object = None, keepdim: bool = False
) -> tuple[MetaArray, MetaArray]:
    deviation = var(self, dim, correction=correction, keepdim=keepdim)
    return deviation, reduced(self, dim, keepdim, self.dtype)


def var(
    self: MetaArray, dim: Dims = None, *, correction: Any = None, keepdim: bool = False
) -> MetaArray:
    if self.dtype.category < 2:
        raise RuntimeError(
            f"std and var only support floating point and complex dtypes, but got {self.dtype}. "
            "Convert the tensor."
        )
    return reduced(self, dim, keepdim, self.dtype.to_real())


def sort(self: MetaArray, dim: int = -1, descending: bool = False) -> tuple[MetaArray, MetaArray]:
    wrap_dim(dim, self.ndim)
    return dense_like(self), dense_like(self, int64)


def sort_stable(
    self: MetaArray, *, stable: bool | None, dim: int = -1, descending: bool = False
) -> tuple[MetaArray, MetaArray]:
    return sort(self, dim, descending)


def topk(
    self: MetaArray, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[MetaArray, MetaArray]:
    place = wrap_dim(dim, self.ndim)
    size = self.shape[place] if self.shape else 1
    if not 0 <= k <= size:
        raise RuntimeError(
            f"selected index k out of range: k is {k} and dimension {place} has size {size}"
        )
    shape = [k if i == place else n for i, n in enumerate(self.shape)]
    return like(self, shape), like(self, shape, int64)


def _one(self: MetaArray, dim: int, keepdim: bool, dtype: DType) -> MetaArray:
    place = wrap_dim(dim, self.ndim)
    if self.shape and not self.shape[place]:
        raise IndexError(f"max(): Expected reduction dim {place} to have non-zero size.")
    return reduced(self, (place,), keepdim, dtype)


def _refuse_empty(self: MetaArray, dims: Sequence[int], name: str) -> None:
    if any([not self.shape[dim] for dim in dims]):
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Give dim=."
        )
