"""Families of array kernels that Dask's arrays need written otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail_aten.families import Indexing, Shapes, Softmax
from dovetail_aten.kernel_support import operator
from dovetail_aten.typing import Array
from dovetail_dispatcher.calls import broadcast_error

from ..chunked import AlongDim
from ..error_state import on_host


class ChunkedIndexing(Indexing):
    """Elements at indices and masks."""

    @operator("index.Tensor")
    def index(self, x: Any, indices: Sequence[object]) -> Any:
        """Return the elements at `indices`; the places of a mask are computed at once."""
        if not indices:
            raise IndexError("at least one index must be provided")
        key = self._key_of(x, indices)
        if all([isinstance(each, slice) for each in key]):
            return self.capabilities.clone(x)
        try:
            np.broadcast_shapes(*[each.shape for each in key if not isinstance(each, slice)])
        except ValueError as error:
            raise self._worded(IndexError(f"{error}: broadcast"), key) from None
        return self.capabilities.at(x, key)  # type: ignore[attr-defined]

    @operator("masked_select")
    def masked_select(self, x: Any, mask: Array) -> Any:
        """Return the elements where `mask`, which is computed at once, is true."""
        mismatch = broadcast_error([x.shape, mask.shape])
        if mask.dtype != self.xp.bool_ or mismatch is not None:
            return super().masked_select(x, mask)  # which says so
        shape = np.broadcast_shapes(x.shape, mask.shape)
        x, mask = self.capabilities.expand(x, shape), self.capabilities.expand(mask, shape)
        if not x.ndim:
            x, mask = x[None], mask[None]
        return self.capabilities.at(x, (mask,))  # type: ignore[attr-defined]


class ChunkedShapes(Shapes):
    """Copies in another shape, order or dtype."""

    @operator("_local_scalar_dense")
    def local_scalar_dense(self, x: Array) -> Any:
        """Compute the one element, and return it as a Python number."""
        if x.size != 1:
            return super().local_scalar_dense(x)
        return on_host(x).item()


class ChunkedSoftmax(Softmax):
    """Softmax and its logarithm: one task where a chunk holds the dimension, else from chunk to
    chunk.
    """

    def _forward(self, name: str, function: Any, x: Any, dim: int, half_to_float: bool) -> Any:
        is_plain = function in (self._softmax_of, self._log_softmax_of)  # not `_safe_softmax`
        if is_plain and x.ndim and x.size and len(x.chunks[self._axis_of(x, dim)]) == 1:
            return AlongDim(f"_{name}")(x, dim, half_to_float)
        return super()._forward(name, function, x, dim, half_to_float)
