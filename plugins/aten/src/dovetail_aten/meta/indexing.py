"""Operators that pick elements by index tensors, or put them there."""

from __future__ import annotations

from collections.abc import Sequence
from operator import gt
from typing import NoReturn

from dovetail_kernel import bool as bool_
from dovetail_kernel import int32, int64, uint8

from ..kernel_support.dims import wrap_dim
from ..kernel_support.geometry.broadcasting import broadcast_shapes, indexed_order
from ..kernel_support.geometry.memory_layout import strides_in_order
from ..typing import Scalar
from .meta_array import MetaArray
from .table import like

Indices = Sequence[MetaArray | None]


def index(self: MetaArray, indices: Indices) -> MetaArray:
    if len(indices) > self.ndim:
        raise IndexError(
            f"too many indices for tensor of dimension {self.ndim} (got {len(indices)})"
        )
    given = {dim: index for dim, index in enumerate(indices) if index is not None}
    for index in given.values():
        if index.dtype is bool_ or index.dtype is uint8:
            _refuse_mask()
    if not given:
        return like(self)
    try:
        shape, order = indexed_order(
            (self.shape, self.element_strides),
            {dim: (index.shape, index.element_strides) for dim, index in given.items()},
        )
    except RuntimeError:
        _common(list(given.values()))  # says so of indices
        raise
    return MetaArray(shape, self.dtype, strides_in_order(shape, order))


def index_put(
    self: MetaArray, indices: Indices, values: MetaArray, accumulate: bool = False
) -> MetaArray:
    if self.dtype is not values.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{self.dtype.scalar_name} for the "
            f"destination and {values.dtype.scalar_name} for the source. Convert the source."
        )
    if any([index is not None and index.dtype in (bool_, uint8) for index in indices]):
        return self
    wanted = index(self, indices).shape
    if broadcast_shapes([wanted, values.shape]) != wanted:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to "
            "indexing result of "
            f"shape {list(wanted)}"
        )
    return self


def index_select(self: MetaArray, dim: int, index: MetaArray) -> MetaArray:
    place = wrap_dim(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if not self.ndim:
        return like(self)
    return like(self, [index.size if i == place else n for i, n in enumerate(self.shape)])


def index_add(
    self: MetaArray, dim: int, index: MetaArray, source: MetaArray, *, alpha: Scalar = 1
) -> MetaArray:
    wrap_dim(dim, self.ndim)
    return like(self)


def gather(self: MetaArray, dim: int, index: MetaArray, *, sparse_grad: bool = False) -> MetaArray:
    place = wrap_dim(dim, self.ndim)
    _check_index(self, place, index, "gather")
    return MetaArray(index.shape, self.dtype)


def scatter(self: MetaArray, dim: int, index: MetaArray, src: MetaArray) -> MetaArray:
    if self.dtype is not src.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype. Convert src.")
    _check_index(self, wrap_dim(dim, self.ndim), index, "scatter")
    own, given = index.shape or (1,), src.shape or (1,)
    if 0 not in own and (len(own) != len(given) or any(map(gt, own, given))):
        raise RuntimeError(
            f"Expected index {list(index.shape)} to be no larger than src {list(src.shape)}. "
            "Expand the source."
        )
    return like(self)


def scatter_value(self: MetaArray, dim: int, index: MetaArray, value: Scalar) -> MetaArray:
    _check_index(self, wrap_dim(dim, self.ndim), index, "scatter")
    return like(self)


def take(self: MetaArray, index: MetaArray) -> MetaArray:
    return MetaArray(index.shape, self.dtype)


def embedding_dense_backward(
    grad_output: MetaArray,
    indices: MetaArray,
    num_weights: int,
    padding_idx: int,
    scale_grad_by_freq: bool,
) -> MetaArray:
    return MetaArray((num_weights, grad_output.shape[-1]), grad_output.dtype)


def _check_index(self: MetaArray, dim: int, index: MetaArray, name: str) -> None:
    if 0 in index.shape:
        return  # nothing is written, wherever it would be
    if index.dtype not in (int32, int64):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index. Convert it.")
    if max(index.ndim, 1) != max(self.ndim, 1):
        raise RuntimeError(
            f"Index tensor must have the same number of dimensions as input tensor: {name}()"
        )
    for i, (own, wanted) in enumerate(zip(self.shape, index.shape, strict=False)):
        if i != dim and wanted > own:
            raise RuntimeError(
                f"Size does not match at dimension {i} expected index {list(index.shape)} to be "
                "no larger than self "
                f"{list(self.shape)} apart from dimension {dim}"
            )


def _common(indices: Sequence[MetaArray]) -> tuple[int, ...]:
    try:
        return broadcast_shapes([index.shape for index in indices])
    except RuntimeError:
        shapes = ", ".join(str(list(index.shape)) for index in indices)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None


def _refuse_mask() -> NoReturn:
    raise NotImplementedError(
        "aten::nonzero: a boolean mask on the meta device has no elements to count, so the shape "
        "of the result is not "
        "known. Index with integers, or on a real device."
    )
