"""Elements written, or combined with others, at places of samples."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import bool as bool_

from ..._generated import functions as F
from ...batching.table import batched, flat, front, logical_ndim, logical_shape, padded
from ...kernel_support.geometry.broadcasting import broadcast_shapes
from ...typing import Batch, Dims, Tensor


def _rows(info: Batch, tensor: Any, in_dim: int | None) -> Any:
    """Return a batch whose samples have at least one dimension."""
    made = batched(tensor, in_dim, info.batch_size)
    return made if made.array.ndim > 1 else F.unsqueeze(made, 1)


def _spread(info: Batch, index: Any, rows: Any, place: int) -> Any:
    """Return vectors of indices, one per sample, for every element of the slices of `rows`."""
    own = F.reshape(index, (info.batch_size, -1))
    count = own.array.shape[1]
    shape = [count if d == place else n for d, n in enumerate(rows.array.shape)]
    narrow = [n if d in (0, place) else 1 for d, n in enumerate(shape)]
    return F.expand(F.view(own, narrow), shape)


def _restored(made: Tensor, self: Any, in_dim: int | None) -> tuple[Any, int]:
    """Return a result of samples that have the dimensions of those of `self`."""
    return (made if logical_ndim(self, in_dim) else F.squeeze_dim(made, 1)), 0


def index_fill(
    info: Batch, in_dims: Dims, self: Any, dim: int, index: Any, value: Any
) -> tuple[Any, Any]:
    place = front(dim, logical_ndim(self, in_dims[0]))
    rows = _rows(info, self, in_dims[0])
    if in_dims[2] is None:
        return _restored(F.index_fill(rows, place, index, value), self, in_dims[0])
    places = F.remainder(_spread(info, index, rows, place), rows.array.shape[place])
    return _restored(F.scatter(rows, place, places, value), self, in_dims[0])


def index_fill_with_tensor(
    info: Batch, in_dims: Dims, self: Any, dim: int, index: Any, value: Any
) -> tuple[Any, Any]:
    if logical_ndim(value, in_dims[3]):
        raise RuntimeError(
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{logical_ndim(value, in_dims[3])} dimension(s). Use index_copy."
        )
    place = front(dim, logical_ndim(self, in_dims[0]))
    rows = _rows(info, self, in_dims[0])
    if in_dims[3] is None and in_dims[2] is None:
        return _restored(F.index_fill(rows, place, index, value), self, in_dims[0])
    places = batched(index, in_dims[2], info.batch_size)
    places = F.remainder(_spread(info, places, rows, place), rows.array.shape[place])
    # A mask, so that the gradient of the value counts places once that are named twice.
    filled = F.scatter(F.zeros_like(rows, dtype=bool_), place, places, True)
    values = padded(batched(value, in_dims[3], info.batch_size), 0, rows.array.ndim - 1)
    made = F.where_self(filled, F.to(values, dtype=rows.dtype), rows)
    return _restored(made, self, in_dims[0])


def index_copy(
    info: Batch, in_dims: Dims, self: Any, dim: int, index: Tensor, source: Tensor
) -> tuple[Any, Any]:
    place = front(dim, logical_ndim(self, in_dims[0]))
    rows, slices = _rows(info, self, in_dims[0]), _rows(info, source, in_dims[3])
    if slices.array.ndim < rows.array.ndim:
        slices = padded(slices, 0, rows.array.ndim - 1)
    if in_dims[2] is None:
        return _restored(F.index_copy(rows, place, index, slices), self, in_dims[0])
    places = _spread(info, index, rows, place)
    return _restored(F.scatter(rows, place, places, slices), self, in_dims[0])


def index_reduce(
    info: Batch,
    in_dims: Dims,
    self: Any,
    dim: int,
    index: Tensor,
    source: object,
    reduce: str,
    *,
    include_self: bool = True,
) -> tuple[Any, Any]:
    place = front(dim, logical_ndim(self, in_dims[0]))
    rows, slices = _rows(info, self, in_dims[0]), _rows(info, source, in_dims[3])
    if in_dims[2] is None:
        made = F.index_reduce(rows, place, index, slices, reduce, include_self=include_self)
        return _restored(made, self, in_dims[0])
    places = _spread(info, index, rows, place)
    made = F.scatter_reduce(rows, place, places, slices, reduce, include_self=include_self)
    return _restored(made, self, in_dims[0])


def masked_scatter(
    info: Batch, in_dims: Dims, self: Any, mask: object, source: object
) -> tuple[Any, Any]:
    shape = broadcast_shapes([logical_shape(self, in_dims[0]), logical_shape(mask, in_dims[1])])
    wide = (info.batch_size, *shape)
    rows = F.expand(padded(batched(self, in_dims[0], info.batch_size), 0, len(shape)), wide)
    masks = F.expand(padded(batched(mask, in_dims[1], info.batch_size), 0, len(shape)), wide)
    given = flat(batched(source, in_dims[2], info.batch_size))
    if not given.array.shape[1]:
        return F.clone(rows), 0
    places = F.clamp_min(F.sub(F.cumsum(flat(masks), 1), 1), 0)
    return F.where_self(masks, F.reshape(F.gather(given, 1, places), wide), rows), 0


def put(
    info: Batch, in_dims: Dims, self: Any, index: Tensor, source: object, accumulate: bool = False
) -> tuple[Any, Any]:
    rows = batched(self, in_dims[0], info.batch_size)
    elements = flat(rows)
    places = F.remainder(
        flat(batched(index, in_dims[1], info.batch_size)), max(elements.array.shape[1], 1)
    )
    values = flat(batched(source, in_dims[2], info.batch_size))
    write = F.scatter_add if accumulate else F.scatter
    return F.reshape(write(elements, 1, places, values), tuple(rows.array.shape)), 0
