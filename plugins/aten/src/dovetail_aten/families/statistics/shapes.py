"""Statistics: elements selected by rank or frequency, histograms, and places of elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_kernel import int64

from ...meta.meta_array import MetaArray
from ...meta.reductions import extreme_along
from ...meta.table import like
from .kernels.histograms import check_bins


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


def histc(self: MetaArray, bins: int = 100, min: object = 0, max: object = 0) -> MetaArray:
    check_bins(bins)
    return like(self, (bins,))


def histogram(self: MetaArray, bins: Any = 100, **_options: Any) -> tuple[MetaArray, MetaArray]:
    count = bins if isinstance(bins, int) else bins.size - 1
    check_bins(count)
    return like(self, (count,)), like(self, (count + 1,))


def histogramdd(self: MetaArray, bins: Sequence[Any], **_options: Any) -> MetaArray:
    return like(self, [each if isinstance(each, int) else each.size - 1 for each in bins])


def histogramdd_bin_edges(self: MetaArray, bins: Sequence[int], **_options: Any) -> list[MetaArray]:
    return [like(self, (count + 1,)) for count in bins]
