"""Elements written, or combined with others, at places."""

from __future__ import annotations

from typing import Any

from ...kernel_support.dims import wrap_dim
from ...kernel_support.geometry.broadcasting import broadcast_shapes
from ...meta.indexing import scatter, scatter_value
from ...meta.meta_array import MetaArray
from ...meta.table import OWN_DTYPES, dense_like, like
from .kernels.indexed_writes import check_index_copy, check_masked_scatter, check_put
from .kernels.scatter_reductions import check_reduction


def index_fill(self: MetaArray, dim: int, index: MetaArray, value: object) -> MetaArray:
    wrap_dim(dim, self.ndim)
    return dense_like(self)


def index_copy(self: MetaArray, dim: int, index: MetaArray, source: MetaArray) -> MetaArray:
    check_index_copy(self, wrap_dim(dim, self.ndim), index, source, OWN_DTYPES)
    return like(self, self.shape)


def index_reduce(
    self: MetaArray,
    dim: int,
    index: MetaArray,
    source: MetaArray,
    reduce: str,
    *,
    include_self: bool = True,
) -> MetaArray:
    check_reduction("index_reduce", reduce)
    wrap_dim(dim, self.ndim)
    return like(self, self.shape)


def scatter_reduce(
    self: MetaArray, dim: int, index: MetaArray, src: Any, reduce: str, *, include_self: bool = True
) -> MetaArray:
    check_reduction("scatter_reduce", reduce)
    return scatter(self, dim, index, src)


def scatter_with(
    self: MetaArray, dim: int, index: MetaArray, src: Any, *, reduce: str
) -> MetaArray:
    check_reduction("scatter", reduce)
    rule = scatter if isinstance(src, MetaArray) else scatter_value
    return rule(self, dim, index, src)


def masked_scatter(self: MetaArray, mask: MetaArray, source: MetaArray) -> MetaArray:
    check_masked_scatter(self, mask, source, OWN_DTYPES)
    return like(self, broadcast_shapes([self.shape, mask.shape]))


def put(
    self: MetaArray, index: MetaArray, source: MetaArray, accumulate: bool = False
) -> MetaArray:
    check_put(self, index, source, OWN_DTYPES)
    return dense_like(self)
