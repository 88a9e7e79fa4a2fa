"""Statistics: elements selected by rank or frequency, histograms, and places of elements."""

from __future__ import annotations

from dovetail_kernel import int64

from .meta_array import MetaArray
from .reductions import extreme_along
from .table import like


def median(self: MetaArray) -> MetaArray:
    return like(self, ())


def kthvalue(
    self: MetaArray, k: int, dim: int = -1, keepdim: bool = False
) -> tuple[MetaArray, MetaArray]:
    values, indices = extreme_along(self, dim, keepdim)
    if not 1 <= k <= (self.shape[dim] if self.shape else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}: {k}.")
    return values, indices


def mode(self: MetaArray, dim: int = -1, keepdim: bool = False) -> tuple[MetaArray, MetaArray]:
    return extreme_along(self, dim, keepdim)


def nonzero_static(self: MetaArray, *, size: int, fill_value: int = -1) -> MetaArray:
    if size < 0:
        raise RuntimeError(
            f"nonzero_static: 'size' must be an non-negative integer, but is {size}."
        )
    return MetaArray((size, self.ndim), int64)
