"""Indexing without waiting for the device: it checks the indices itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np

from dovetail_aten.families import IndexedWrites, Indexing, IndexingAlong, ScatterReductions
from dovetail_aten.kernel_support import Family
from dovetail_aten.typing import Array

from ..index_errors import check_places
from ..waiting import note_wait


class CheckedOnDevice(Family):
    """The checks of indices."""

    def checked_places(
        self, index: Array, least: int, size: int, error: Callable[..., Exception]
    ) -> Any:
        """Return `index`, of which the device checks that it lies in [`least`, `size`)."""
        check_places(index, least, size, error)
        return index


class DeviceIndexing(CheckedOnDevice, Indexing):
    """Indexing by arrays."""

    def _key_of(self, x: Array, indices: Sequence[object]) -> tuple[Any, ...]:
        key = Indexing._key_of(self, x, indices)
        if any([not isinstance(each, slice) and each.dtype == self.xp.bool_ for each in key]):
            note_wait("indexing by a mask")
        return key

    def masked_select(self, x: Array, mask: Array) -> Any:
        """Return the elements where `mask` is true, in one dimension."""
        note_wait("masked_select")
        return Indexing.masked_select(self, x, mask)


class DeviceIndexingAlong(CheckedOnDevice, IndexingAlong):
    """Indexing along a dimension."""

    def embedding_dense_backward(
        self,
        grad_output: Array,
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


class DeviceIndexedWrites(CheckedOnDevice, IndexedWrites):
    """Arrays with other elements at some places."""

    def checked(self, array: Array, right: Array, error: Callable[..., Exception]) -> Any:
        """Return `array`, of which the device checks that it is `right` everywhere."""
        check_places(right, 1, 2, error)
        return array
