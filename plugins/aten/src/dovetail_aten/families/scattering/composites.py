"""Elements picked and written at places, in terms of other operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_aten.kernel_support.dims import wrap_dim
from dovetail_aten.kernel_support.geometry.broadcasting import broadcast_shapes
from dovetail_kernel import bool as bool_
from dovetail_kernel import int64

from ...typing import Scalar, Tensor


def take_along_dim(self: Tensor, indices: Tensor, dim: int | None = None) -> Any:
    """Return the elements at `indices` along `dim`, with which all other dimensions broadcast;
    without `dim` those of `self` read as one dimension, from the start alone.
    """
    if indices.dtype is not int64:
        raise RuntimeError(
            "torch.take_along_dim(): dtype of indices should be Long but got "
            f"{indices.dtype.scalar_name}. Convert it: indices.long()."
        )
    if self.device != indices.device:
        raise RuntimeError(
            "torch.take_along_dim(): Expected tensor to have the same device as indices, but got "
            f"{self.device} and {indices.device}. Move one."
        )
    if dim is None:
        return F.gather(F.reshape(self, (-1,)), 0, F.reshape(indices, (-1,)))
    if self.ndim != indices.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {self.ndim} dimensions for input, and {indices.ndim} dimensions for indices. "
            "Reshape one."
        )
    place = wrap_dim(dim, self.ndim)
    own, other = list(self.shape), list(indices.shape)
    if not self.ndim:
        return F.gather(self, 0, _wrapped(indices, 1))
    own[place] = other[place] = 1
    if own == other:
        return F.gather(self, place, _wrapped(indices, self.shape[place]))
    shape = list(broadcast_shapes([tuple(own), tuple(other)]))
    rows = F.expand(self, [*shape[:place], self.shape[place], *shape[place + 1 :]])
    places = F.expand(indices, [*shape[:place], indices.shape[place], *shape[place + 1 :]])
    return F.gather(rows, place, _wrapped(places, self.shape[place]))


def _wrapped(indices: Tensor, size: int) -> Any:
    """Return indices of which negative ones are counted from the end."""
    return F.where_self(F.lt(indices, 0), F.add(indices, size), indices)


def masked_index(self: Tensor, mask: Tensor, indices: Sequence[object], fill: Scalar) -> Any:
    """Return the elements at `indices` where `mask` is true, and `fill` elsewhere; indices beyond
    the ends are taken for those at the ends.
    """
    _check_masked(mask, indices)
    if self.numel() == 0:
        shape = F.masked_fill(F.zeros(_index_shape(indices), device=self.device), mask, 0).shape
        return F.new_full(self, (*shape, *self.shape[len(indices) :]), fill)
    found = F.index(self, _clamped(self, indices))
    return F.masked_fill(found, F.logical_not(mask), fill)


def masked_index_put_accumulate(
    self: Tensor, mask: Tensor, indices: Sequence[object], values: Tensor
) -> Any:
    """Return `self` with `values` added at `indices` where `mask` is true."""
    _check_masked(mask, indices)
    if self.numel() == 0:
        return F.clone(self)
    added = F.masked_fill(values, F.logical_not(mask), 0)
    return F.index_put(self, _clamped(self, indices), added, True)


def _check_masked(mask: Any, indices: Sequence[Any]) -> None:
    for index in indices:
        if index is not None and index.dtype is not int64:
            raise RuntimeError(
                "_unsafe_masked_index found unexpected index type "
                f"{index.dtype.scalar_name}. Convert it: index.long()."
            )
    if mask.dtype is not bool_:
        raise RuntimeError(
            "tensors used as masks must be bool tensors, but this one is of "
            f"{mask.dtype.scalar_name}. Use mask != 0."
        )


def _clamped(self: Any, indices: Sequence[Any]) -> list[Any]:
    return [
        None if index is None else F.clamp(index, -size, size - 1)
        for index, size in zip(indices, self.shape, strict=False)
    ]


def _index_shape(indices: Sequence[Any]) -> tuple[int, ...]:
    return broadcast_shapes([tuple(index.shape) for index in indices if index is not None])
