"""Indexing without waiting for the device: it checks the indices itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np

from dovetail_aten.array_kernels.indexed_writes import IndexedWrites
from dovetail_aten.array_kernels.indexing import Indexing
from dovetail_aten.array_kernels.indexing_along import IndexingAlong
from dovetail_aten.array_kernels.scatter_reductions import ScatterReductions
from dovetail_kernel import int32, int64

from .index_errors import COUNT, ELEMENT, ROW, check_index
from .waiting import note_wait


class CheckedOnDevice:
    """The checks of indices along one dimension."""

    dtypes: Any

    def _check_range(self, index: Any, size: int) -> None:
        check_index(index, 0, size, 0, ROW)

    def _check_index(self, name: str, x: Any, index: Any, axis: int) -> None:
        if self.dtypes[index.dtype] not in (int32, int64):
            raise RuntimeError(
                f"{name}(): Expected dtype int32/int64 for index, but got "
                f"{self.dtypes[index.dtype].scalar_name}"
            )
        if max(index.ndim, 1) != max(x.ndim, 1):
            raise RuntimeError(
                "Index tensor must have the same number of dimensions as input tensor"
            )
        check_index(index, 0, x.shape[axis] if x.ndim else 1, axis, kind=RuntimeError)


class ElementsCheckedOnDevice:
    """The checks of indices over all elements."""

    def _check_elements(self, index: Any, size: int) -> None:
        check_index(index, -size, size, 0, ELEMENT)


class DeviceIndexing(ElementsCheckedOnDevice, Indexing):
    """Indexing by arrays."""

    def _key_of(self, x: Any, indices: Sequence[Any]) -> tuple[Any, ...]:
        key = Indexing._key_of(self, x, indices)
        if any([not isinstance(each, slice) and each.dtype == self.xp.bool_ for each in key]):
            note_wait("indexing by a mask")
        return key

    def masked_select(self, x: Any, mask: Any) -> Any:
        """Return the elements where `mask` is true, in one dimension."""
        note_wait("masked_select")
        return Indexing.masked_select(self, x, mask)

    def _check_bounds(self, index: Any, dim: int, size: int) -> None:
        check_index(index, -size, size, dim)


class DeviceIndexingAlong(CheckedOnDevice, IndexingAlong):
    """Indexing along a dimension."""

    def embedding_dense_backward(
        self,
        grad_output: Any,
        indices: Any,
        num_weights: int,
        padding_idx: int,
        scale_grad_by_freq: bool,
    ) -> Any:
        """Return the gradient of `embedding`. Rows of `padding_idx` count as zeros, since leaving
        them out would wait for how many there are.
        """
        if indices.size and grad_output.size == indices.size * grad_output.shape[-1]:
            rows = grad_output.reshape(*indices.shape, -1)
            if scale_grad_by_freq:
                flat = indices.reshape(-1)
                none, one = cupy.zeros(num_weights, np.int32), cupy.ones(flat.size, np.int32)
                frequency = self.capabilities.index_add(none, 0, flat, one)[indices]
                rows = rows / frequency.astype(rows.dtype)[..., None]
            if padding_idx >= 0:
                zero = self.numbers.like(rows, 0)
                rows = self.xp.where((indices == padding_idx)[..., None], zero, rows)
            grad_output = rows
        return IndexingAlong.embedding_dense_backward(
            self, grad_output, indices, num_weights, -1, False
        )


class DeviceScatterReductions(CheckedOnDevice, ScatterReductions):
    """Reductions of the elements that come to the same place."""


class DeviceIndexedWrites(ElementsCheckedOnDevice, IndexedWrites):
    """Arrays with other elements at some places."""

    def _check_count(self, count: Any, size: int) -> None:
        check_index(count.reshape(1), 0, size + 1, size, COUNT, RuntimeError)

    def _check_bounds(self, name: str, index: Any, axis: int, size: int, least: int = 0) -> None:
        check_index(index, least, size, axis)
