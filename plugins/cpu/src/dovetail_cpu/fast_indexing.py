"""Picking elements by flat indices, triangles by remembered masks, sums of rows at indices without
a pass per row.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy

from dovetail_aten.array_kernels import KernelTable, Numbers, wrap_dim
from dovetail_aten.array_kernels.capabilities import Capabilities

from .sums_of_rows import add_rows
from .top import top_of_rows

_FLOATS = (numpy.dtype(numpy.float32), numpy.dtype(numpy.float64))
_LONG = numpy.dtype(numpy.int64)
_MASKS_UP_TO = 1 << 16
_FEW_COLUMNS = 16
_PARTITIONED_FROM = 64
"""Length from which topk does not sort what it leaves out."""


def define(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    """Define the kernels of this family."""
    _define_picks(kernel)
    _define_triangles(kernel, capabilities)
    _define_sums(kernel, capabilities)


def pick(array: Any, indices: Any) -> Any:
    """Return the elements at `indices` along the last dimension; the leading dimensions agree."""
    length = array.shape[-1]
    if array.ndim == 1:
        return array.take(indices)
    offsets = numpy.arange(0, array.size, length).reshape((*array.shape[:-1], 1))
    return numpy.ascontiguousarray(array).reshape(-1).take(indices + offsets)


def _define_picks(kernel: KernelTable) -> None:
    generic = {name: kernel.kernels[name].fn for name in ("gather", "sort", "topk")}
    least: Any = numpy.minimum.reduce
    greatest: Any = numpy.maximum.reduce

    @kernel.named("gather")
    def gather(self: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
        ndim = self.ndim
        if (
            not ndim
            or index.dtype != _LONG
            or not index.size
            or index.shape[:-1] != self.shape[:-1]
            or wrap_dim(dim, ndim) != ndim - 1
            or least(index, None) < 0
            or greatest(index, None) >= self.shape[-1]
        ):
            return generic["gather"](self, dim, index)
        return pick(self, index)

    def order(self: Any, descending: bool) -> Any:
        """Return the stable order along the last dimension, NaN counted as the greatest."""
        if not descending:
            return self.argsort(-1, "stable")
        return (self.shape[-1] - 1) - self[..., ::-1].argsort(-1, "stable")[..., ::-1]

    @kernel.named("sort")
    def sort(self: Any, dim: int = -1, descending: bool = False) -> tuple[Any, Any]:
        if not self.size or not self.ndim or wrap_dim(dim, self.ndim) != self.ndim - 1:
            values, indices = generic["sort"](self, dim, descending)
            return values, indices
        indices = order(self, descending)
        return pick(self, indices), indices

    @kernel.named("topk")
    def topk(
        self: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
    ) -> tuple[Any, Any]:
        if (
            not self.size
            or not self.ndim
            or wrap_dim(dim, self.ndim) != self.ndim - 1
            or not 0 <= k <= self.shape[-1]
        ):
            values, indices = generic["topk"](self, k, dim, largest, sorted)
            return values, indices
        length = self.shape[-1]
        if length < _PARTITIONED_FROM or k * 4 > length or k == 0:
            indices = order(self, largest)[..., :k].copy()
            return pick(self, indices), indices
        if self.dtype in _FLOATS:
            rows = numpy.ascontiguousarray(self).reshape(-1, length)
            found = top_of_rows(rows, k, largest)
            if found is not None:
                shape = (*self.shape[:-1], k)
                return found[0].reshape(shape), found[1].reshape(shape)
        candidates = self.argpartition(length - k if largest else k - 1, -1)
        candidates = numpy.sort(
            candidates[..., length - k :] if largest else candidates[..., :k], -1
        )
        values = pick(self, candidates)
        ranks = order(values, largest)
        return pick(values, ranks), pick(candidates, ranks)


@lru_cache(64)
def _outside(name: str, rows: int, columns: int, diagonal: int) -> Any:
    """Return where a triangle is not."""
    inside = numpy.tri(rows, columns, diagonal if name == "tril" else diagonal - 1, bool)
    return ~inside if name == "tril" else inside


def _define_triangles(kernel: KernelTable, capabilities: Capabilities) -> None:
    numbers = Numbers(capabilities)

    def define_triangle(name: str) -> None:
        generic = kernel.kernels[name].fn

        @kernel.named(name)
        def triangle(self: Any, diagonal: int = 0) -> Any:
            if self.ndim < 2 or self.shape[-1] * self.shape[-2] > _MASKS_UP_TO:
                return generic(self, diagonal)
            result = self.copy()
            numpy.copyto(
                result, numbers.like(self, 0), where=_outside(name, *self.shape[-2:], diagonal)
            )
            return result

    define_triangle("tril")
    define_triangle("triu")


def _define_sums(kernel: KernelTable, capabilities: Capabilities) -> None:
    generic = {name: kernel.kernels[name].fn for name in ("index_add", "embedding_dense_backward")}

    @kernel.named("index_add")
    def index_add(self: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
        if (
            alpha != 1
            or self.ndim < 2
            or wrap_dim(dim, self.ndim)
            or self.dtype not in _FLOATS
            or self.dtype != source.dtype
            or index.ndim != 1
            or index.dtype != _LONG
            or source.shape != (index.size, *self.shape[1:])
            or self.size < len(self) * _FEW_COLUMNS
            or index.size < _FEW_COLUMNS
            or numpy.min(index) < 0
            or numpy.max(index) >= len(self)
        ):
            return generic["index_add"](self, dim, index, source, alpha=alpha)
        result = self.copy()
        add_rows(result, index, source)
        return result

    @kernel.named("embedding_dense_backward")
    def embedding_dense_backward(
        grad_output: Any, indices: Any, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
    ) -> Any:
        width = grad_output.shape[-1]
        if (
            grad_output.dtype not in _FLOATS
            or width < _FEW_COLUMNS
            or scale_grad_by_freq
            or padding_idx >= 0
        ):
            return generic["embedding_dense_backward"](
                grad_output, indices, num_weights, padding_idx, scale_grad_by_freq
            )
        result = numpy.zeros((num_weights, width), grad_output.dtype)
        add_rows(result, indices.reshape(-1), grad_output.reshape(-1, width))
        return result
