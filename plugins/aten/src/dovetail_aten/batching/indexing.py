"""Operators that pick elements by index tensors, or put them there: the batch dimension is indexed
by 0, 1, 2, ...
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail_dispatcher import Operator
from dovetail_kernel import bool as bool_
from dovetail_kernel import uint8

from .._generated import functions as F
from ..kernel_support.geometry.broadcasting import broadcast_shapes
from ..typing import Batch, Dims, Scalar, Tensor
from .table import Rule, batched, call_one, flat, front, logical_ndim, logical_shape, padded

DYNAMIC_MASK = (
    "vmap: We do not support batching operators that can support dynamic shape. Attempting to "
    "batch over indexing with "
    "a boolean mask. Use where(mask, x, other), which keeps the shape."
)


# -- x[indices], x[indices] = values ---------------------------------------------------------------


def index(info: Batch, in_dims: Any, self: Any, indices: Sequence[object]) -> tuple[Any, Any]:
    own, dims = in_dims[0], list(in_dims[1])
    at = _scalar_mask(indices, dims)
    if at is not None:
        wide, flags, _ = _widened(self, own, indices, at)
        return index(info, (own, dims), wide, flags)
    places, dims = _without_masks(indices, dims)
    _check_count(places, self, own)
    if not any([dim is not None for dim in dims]):
        found = F.index(self, [None, *places])
        return found, 0 if _together(places) else _index_ndim(places, dims)
    lined_up = _lined_up(places, dims)
    if own is None:
        found = F.index(self, lined_up)
        return found, _first(places) if _together(places) else 0
    ndim = _index_ndim(places, dims)
    found = F.index(self, [_numbers(self, ndim), *lined_up])
    before = _first(places)
    if not _together(places) or not before:
        return found, 0
    # Indexed dimensions came to the front, because the batch dimension is indexed too.
    order = [
        0,
        *range(1 + ndim, 1 + ndim + before),
        *range(1, 1 + ndim),
        *range(1 + ndim + before, found.array.ndim),
    ]
    return F.permute(found, order), 0


def index_put(
    info: Batch,
    in_dims: Any,
    self: Any,
    indices: Sequence[object],
    values: Any,
    accumulate: bool = False,
) -> tuple[Any, Any]:
    own = batched(self, in_dims[0], info.batch_size)
    dims = list(in_dims[1])
    if (
        _is_batched_mask(indices, dims)
        and not accumulate
        and math.prod(logical_shape(values, in_dims[2])) == 1
    ):
        return _fill_masked(own, indices, dims, values, in_dims[2]), 0
    at = _scalar_mask(indices, dims)
    if at is not None:
        wide, flags, place = _widened(own, 0, indices, at)
        made, _ = index_put(info, (0, dims, in_dims[2]), wide, flags, values, accumulate)
        return F.squeeze_dim(made, place), 0
    places, dims = _without_masks(indices, dims)
    _check_count(places, own, 0)
    ndim = _index_ndim(places, dims)
    lined_up = [_numbers(own, ndim), *_lined_up(places, dims)]
    kept = logical_ndim(own, 0) - sum([place is not None for place in places])
    if logical_ndim(values, in_dims[2]) > ndim + kept:
        call_one(
            F.index_put,
            (0, None, in_dims[2]),
            own,
            [None if p is None else p for p in places],
            values,
        )
    given = padded(batched(values, in_dims[2], info.batch_size), 0, ndim + kept)
    before = _first(places) if _together(places) else 0
    if before:
        order = [
            0,
            *range(1 + before, 1 + before + ndim),
            *range(1, 1 + before),
            *range(1 + before + ndim, given.array.ndim),
        ]
        given = F.permute(given, order)
    return F.index_put(own, lined_up, given, accumulate), 0


def _is_mask(index: Any) -> bool:
    return index is not None and index.dtype in (bool_, uint8)


def _scalar_mask(indices: Sequence[Any], dims: Sequence[Any]) -> int | None:
    """Return which index is the first mask without dimensions that all samples share."""
    for at, (index, dim) in enumerate(zip(indices, dims, strict=True)):
        if dim is None and _is_mask(index) and not index.array.ndim:
            return at
    return None


def _widened(
    tensor: Tensor, own: int | None, indices: Sequence[Any], at: int
) -> tuple[Any, list[Any], int]:
    """Return a tensor with a new dimension of one element, from which the mask without dimensions
    at `at` picks; the indices, that mask having one; and the new dimension.
    """
    place = sum([index.array.ndim if _is_mask(index) else 1 for index in indices[:at]])
    place += own is not None  # the batch dimension is the first
    flags = [*indices[:at], F.reshape(indices[at], (1,)), *indices[at + 1 :]]
    return F.unsqueeze(tensor, place), flags, place


def _is_batched_mask(indices: Sequence[object], dims: Sequence[object]) -> bool:
    given = [(index, dim) for index, dim in zip(indices, dims, strict=True) if index is not None]
    return len(given) == 1 and _is_mask(given[0][0]) and given[0][1] is not None


def _fill_masked(
    own: Any, indices: Sequence[Any], dims: Sequence[Any], values: Any, in_dim: int | None
) -> Any:
    """Return `own` with the one value where the mask is: the only use of a batched mask whose shape
    is known.
    """
    at, mask = next(iter([(at, index) for at, index in enumerate(indices) if index is not None]))
    trailing = logical_ndim(own, 0) - at - logical_ndim(mask, 0)
    shape = mask.array.shape
    mask = F.view(F.to(mask, bool_), (shape[0], *([1] * at), *shape[1:], *([1] * trailing)))
    if values.dtype is not own.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{own.dtype.scalar_name} for the "
            f"destination and {values.dtype.scalar_name} for the source. Convert the source."
        )
    value = F.reshape(
        values, (1,) * logical_ndim(own, 0) if in_dim is None else (-1, *[1] * logical_ndim(own, 0))
    )
    return F.where_self(mask, value, own)


def _without_masks(indices: Sequence[Any], dims: list[object]) -> tuple[list[Any], list[Any]]:
    """Return indices without masks, which become the places where they are true, and the batch
    dimension of each.
    """
    places: list[Any] = []
    kept: list[Any] = []
    for index, dim in zip(indices, dims, strict=True):
        if _is_mask(index):
            if dim is not None:
                raise RuntimeError(DYNAMIC_MASK)
            found = F.unbind(F.nonzero(index), 1)
            places.extend(found)
            kept.extend([None] * len(found))
        else:
            places.append(index)
            kept.append(dim)
    return places, kept


def _check_count(places: Sequence[object], self: Any, own: int | None) -> None:
    ndim = logical_ndim(self, own)
    if len(places) > ndim:
        raise IndexError(f"too many indices for tensor of dimension {ndim} (got {len(places)})")


def _together(places: Sequence[object]) -> bool:
    """Return whether the index tensors are beside each other: then what they pick stays in their
    place.
    """
    given = [at for at, place in enumerate(places) if place is not None]
    return not given or given[-1] - given[0] + 1 == len(given)


def _first(places: Sequence[object]) -> int:
    return next(iter([at for at, place in enumerate(places) if place is not None]), 0)


def _index_ndim(places: Sequence[Any], dims: Sequence[Any]) -> int:
    return max(
        [logical_ndim(p, d) for p, d in zip(places, dims, strict=True) if p is not None], default=0
    )


def _lined_up(places: Sequence[Any], dims: Sequence[Any]) -> list[Any]:
    ndim = _index_ndim(places, dims)
    lined_up = [
        None if p is None else padded(p, d, ndim) for p, d in zip(places, dims, strict=True)
    ]
    try:
        broadcast_shapes([tuple(p.array.shape) for p in lined_up if p is not None])
    except RuntimeError:
        shapes = ", ".join(
            str(list(logical_shape(p, d)))
            for p, d in zip(places, dims, strict=True)
            if p is not None
        )
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None
    return lined_up


def _numbers(tensor: Tensor, ndim: int) -> Any:
    """Return the number of each sample, to be broadcast with indices of `ndim` dimensions."""
    size = tensor.array.shape[0]
    return F.view(F.arange(size, device=tensor.device), (size, *([1] * ndim)))


# -- along one dimension ---------------------------------------------------------------------------


def index_select(info: Batch, in_dims: Dims, self: Any, dim: int, index: Tensor) -> tuple[Any, Any]:
    own, other = in_dims[0], in_dims[2]
    ndim = logical_ndim(self, own)
    if logical_ndim(index, other) > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    place = front(dim, ndim)
    if other is None:
        if ndim:
            return F.index_select(self, place, index), 0
        return F.squeeze_dim(F.index_select(F.unsqueeze(self, 1), 1, index), 1), 0
    index = F.unsqueeze(index, 1) if index.array.ndim == 1 else index
    rows = self if ndim else F.unsqueeze(self, -1)
    if own is None:
        size = index.array.shape[1]
        found = F.index_select(rows, place - 1, F.reshape(index, (info.batch_size * size,)))
        shape = rows.array.shape
        found = F.view(found, (*shape[: place - 1], info.batch_size, size, *shape[place:]))
        return (found, place - 1) if ndim else (F.squeeze_dim(found, 1), 0)
    shape = rows.array.shape
    wide = [index.array.shape[1] if d == place else n for d, n in enumerate(shape)]
    spread = F.view(
        index,
        (
            info.batch_size,
            *[index.array.shape[1] if d == place else 1 for d in range(1, len(shape))],
        ),
    )
    found = F.gather(rows, place, F.expand(spread, wide))
    return found if ndim else F.squeeze_dim(found, 1), 0


def _elements(info: Batch, *given: tuple[Any, Any]) -> tuple[bool, list[Any]]:
    """Return whether samples have no dimensions, and the tensors batched, such samples as vectors
    of one element.
    """
    zero_dim = logical_ndim(*given[0]) == 0
    tensors = [batched(tensor, dim, info.batch_size) for tensor, dim in given]
    return zero_dim, [F.unsqueeze(each, 1) if each.array.ndim == 1 else each for each in tensors]


def gather(
    info: Batch, in_dims: Dims, self: Any, dim: int, index: Tensor, *, sparse_grad: bool = False
) -> tuple[Any, Any]:
    zero_dim = logical_ndim(index, in_dims[2]) == 0
    _, (rows, places) = _elements(info, (self, in_dims[0]), (index, in_dims[2]))
    found = F.gather(rows, front(dim, logical_ndim(self, in_dims[0])), places)
    return F.squeeze_dim(found, 1) if zero_dim else found, 0


def scatter(op: Operator) -> Rule:
    """Return the rule of an operator that puts a number, or the elements of a tensor, at places."""
    call = op.handle
    from_tensor = op.schema.arguments[3].real_type.schema_str == "Tensor"

    def apply(
        info: Any, in_dims: Dims, self: Any, dim: int, index: Any, src: Any, *how: Any, **more: Any
    ) -> tuple[Any, Any]:
        place = front(dim, logical_ndim(self, in_dims[0]))
        given = [(self, in_dims[0]), (index, in_dims[2])]
        if from_tensor:
            given.append((src, in_dims[3]))
        zero_dim, tensors = _elements(info, *given)
        given_src = tensors[2] if from_tensor else src
        made = call(tensors[0], place, tensors[1], given_src, *how, **more)
        return F.squeeze_dim(made, 1) if zero_dim else made, 0

    return apply


def index_add(
    info: Batch,
    in_dims: Dims,
    self: Any,
    dim: int,
    index: Tensor,
    source: Tensor,
    *,
    alpha: Scalar = 1,
) -> tuple[Any, Any]:
    place = front(dim, logical_ndim(self, in_dims[0]))
    zero_dim, (rows, added) = _elements(info, (self, in_dims[0]), (source, in_dims[3]))
    if in_dims[2] is None:
        made = F.index_add(rows, place, index, added, alpha=alpha)
    else:
        if logical_ndim(index, in_dims[2]) > 1:
            raise IndexError("index_add_(): Index is supposed to be a vector")
        size = added.array.shape[place]
        spread = F.view(
            index,
            (info.batch_size, *[size if d == place else 1 for d in range(1, rows.array.ndim)]),
        )
        made = F.scatter_add(
            rows,
            place,
            F.expand(spread, tuple(added.array.shape)),
            # Bools stay bools: times an integer they would be integers.
            added if alpha == 1 else F.mul(added, alpha != 0 if added.dtype is bool_ else alpha),
        )
    return F.squeeze_dim(made, 1) if zero_dim else made, 0


def take(info: Batch, in_dims: Dims, self: Any, index: Tensor) -> tuple[Any, Any]:
    if in_dims[0] is None:
        return F.take(self, index), 0
    elements = flat(self)
    if in_dims[1] is None:
        return F.index(elements, [None, index]), 0
    return F.index(elements, [_numbers(elements, logical_ndim(index, 0)), index]), 0


def masked_select(info: Batch, in_dims: Dims, self: Any, mask: Any) -> tuple[Any, Any]:
    if in_dims[1] is not None:
        raise RuntimeError(
            "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot "
            "support this because for "
            "each batch this would return a differently shaped Tensor. Use where(mask, self, "
            "other)."
        )
    shape = broadcast_shapes([logical_shape(self, 0), tuple(mask.array.shape)])
    everywhere = F.expand(padded(self, 0, len(shape)), (info.batch_size, *shape))
    chosen = F.select(F.nonzero(F.reshape(F.expand(mask, shape), (math.prod(shape),))), 1, 0)
    return F.index_select(flat(everywhere), 1, chosen), 0


def embedding(
    info: Batch,
    in_dims: Dims,
    weight: Any,
    indices: Any,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> tuple[Any, Any]:
    """Stay one call, since its derivative leaves out the padding; one for each sample if it counts
    what is picked.
    """
    rest: Any = padding_idx, scale_grad_by_freq, sparse
    if in_dims[0] is None and not scale_grad_by_freq:
        return F.embedding(weight, indices, *rest), 0
    tables = [weight] * info.batch_size if in_dims[0] is None else F.unbind(weight, 0)
    rows = [indices] * len(tables) if in_dims[1] is None else F.unbind(indices, 0)
    picked = [F.embedding(*pair, *rest) for pair in zip(tables, rows, strict=True)]
    return F.stack(picked, 0), 0


def embedding_dense_backward(
    info: Batch,
    in_dims: Dims,
    grad_output: Tensor,
    indices: object,
    num_weights: int,
    padding_idx: int,
    scale_grad_by_freq: bool,
) -> tuple[Any, Any]:
    """Every sample has its own rows of one large table."""
    grad = batched(grad_output, in_dims[0], info.batch_size)
    rows = batched(indices, in_dims[1], info.batch_size)
    if padding_idx >= 0:
        grad = F.masked_fill(grad, F.unsqueeze(F.eq(rows, padding_idx), -1), 0)
    offsets = F.mul(_numbers(rows, logical_ndim(rows, 0)), num_weights)
    # A row that the table of a sample has not would be one of the next sample's.
    is_row = F.logical_and(F.ge(rows, 0), F.lt(rows, num_weights))
    places = F.where(is_row, F.add(rows, offsets), -1)
    made = F.embedding_dense_backward(
        grad, places, info.batch_size * num_weights, -1, scale_grad_by_freq
    )
    return F.view(made, (info.batch_size, num_weights, grad.array.shape[-1])), 0
