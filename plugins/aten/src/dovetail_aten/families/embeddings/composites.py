"""Bags of rows of a table, and rows made no longer than a norm."""

from __future__ import annotations

from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_kernel import int32, int64

from ...typing import Tensor

SUM, MEAN, MAX = range(3)


def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = SUM,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Any, Any, Any, Any]:
    """Return the sums, means or greatest elements of the rows of each bag, the bag of each index,
    how many rows each bag has, and of the greatest where they are.
    """
    _check(weight, indices, offsets, mode, per_sample_weights)
    count, total = indices.shape[0], offsets.shape[0] - include_last_offset
    _check_offsets(offsets, count, include_last_offset)
    indices, offsets = F.to(indices, dtype=int64), F.to(offsets, dtype=int64)
    first = F.slice(offsets, 0, 0, total)
    # The bag of an index is the last that begins at it or before.
    begins = F.index_add(F.new_zeros(first, (count + 1,)), 0, first, F.ones_like(first))
    bags = F.sub(F.slice(F.cumsum(begins, 0), 0, 0, count), 1)
    try:
        rows = F.embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse)
    except IndexError as error:
        raise RuntimeError(
            f"embedding_bag: Expected idx >= 0 && idx < num_embeddings, but {error}"
        ) from error
    kept = F.ne(indices, padding_idx)
    sizes = F.index_add(F.new_zeros(first, (total,)), 0, bags, F.to(kept, dtype=int64))
    nothing = F.new_zeros(rows, (total, weight.shape[1]))
    left_out = F.unsqueeze(F.logical_not(kept), 1)
    if mode == MAX:
        number = _greatest(F.detach(rows), left_out, bags, total)
        # An empty bag has the number of the row of zeros behind the last one.
        known = F.cat([indices, F.new_zeros(indices, (1,))], 0)
        places = F.index_select(known, 0, F.reshape(number, (-1,)))
        rows = F.cat([rows, F.new_zeros(rows, (1, weight.shape[1]))], 0)
        return F.gather(rows, 0, number), bags, sizes, F.reshape(places, tuple(number.shape))
    if padding_idx >= 0:
        rows = F.masked_fill(rows, left_out, 0)
    if per_sample_weights is not None:
        rows = F.mul(rows, F.unsqueeze(per_sample_weights, 1))
    summed = F.index_add(nothing, 0, bags, rows)
    if mode == MEAN:
        summed = F.div(summed, F.unsqueeze(F.to(F.clamp_min(sizes, 1), dtype=summed.dtype), 1))
    return summed, bags, sizes, sizes


def bags_of_rows(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = SUM,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Any, Any, Any, Any]:
    """Return what `embedding_bag` does; an index below zero counts from the last row."""
    count = weight.shape[0] if weight.ndim else 0
    left_out = -1 if padding_idx is None else padding_idx
    if padding_idx is not None and not -count <= padding_idx < count:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, -{count} through {count - 1}, "
            f"but got {padding_idx}."
        )
    if padding_idx is not None and padding_idx < 0:
        left_out += count
    return F._embedding_bag(
        weight,
        indices,
        offsets,
        scale_grad_by_freq,
        mode,
        sparse,
        per_sample_weights,
        include_last_offset,
        left_out,
    )


def _greatest(rows: Tensor, left_out: Tensor, bags: Tensor, total: int) -> Any:
    """Return the number of the row with the greatest element of each bag, in each column: of equal
    elements the first. A NaN counts if it is the first element of its bag, as no other is greater
    then, and is ignored after others. A bag without rows has the number of all rows.
    """
    count = bags.shape[0]
    bags = F.expand(F.unsqueeze(bags, 1), tuple(rows.shape))
    numbers = F.unsqueeze(F.arange(count, device=bags.device), 1)
    numbers = F.expand(F.masked_fill(numbers, left_out, count), tuple(rows.shape))
    beyond = F.new_full(numbers, (total, rows.shape[1]), count)
    first = F.scatter_reduce(beyond, 0, bags, numbers, "amin")
    is_nan = F.isnan(rows)
    known = F.masked_fill(rows, F.logical_or(is_nan, left_out), float("-inf"))
    least = F.new_full(rows, tuple(beyond.shape), float("-inf"))
    greatest = F.gather(F.scatter_reduce(least, 0, bags, known, "amax"), 0, bags)
    counts = F.logical_or(
        F.eq(known, greatest), F.logical_and(is_nan, F.eq(numbers, F.gather(first, 0, bags)))
    )
    numbers = F.masked_fill(numbers, F.logical_not(counts), count)
    return F.scatter_reduce(beyond, 0, bags, numbers, "amin")


def _check(
    weight: Tensor, indices: Tensor, offsets: Tensor, mode: int, per_sample_weights: Tensor | None
) -> None:
    for number, name, tensor in ((1, "indices", indices), (1, "offsets", offsets)):
        if tensor.dtype not in (int32, int64):
            raise RuntimeError(
                f"Expected tensor for argument #{number} '{name}' to have one of the following "
                f"scalar types: Long, Int; but got {tensor.dtype.scalar_name} instead (while "
                "checking arguments for embedding_bag)"
            )
        if tensor.ndim != 1:
            raise RuntimeError(
                f"{name} has to be a 1D Tensor, but got Tensor of dimension {tensor.ndim}. Flatten "
                "it."
            )
    if mode not in (SUM, MEAN, MAX):
        raise RuntimeError(
            f"embedding_bag: `mode` must be sum, mean, or max, but got {mode}. Give {SUM}, {MEAN} "
            f"or {MAX}."
        )
    if weight.ndim != 2:
        raise RuntimeError(
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}"
        )
    if not weight.dtype.is_floating_point:
        raise RuntimeError(
            "expected scalar type of weight to be a floating-point one, but got "
            f"{weight.dtype.scalar_name} (while checking arguments for embedding_bag)"
        )
    if per_sample_weights is not None:
        if mode != SUM:
            raise RuntimeError(
                "embedding_bag: per_sample_weights only supported with mode='sum'. Leave it out."
            )
        if per_sample_weights.dtype is not weight.dtype:
            raise RuntimeError(
                "Expected tensor for argument #1 'weight' to have the same type as tensor for "
                f"argument #1 'per_sample_weights'; but {weight.dtype.scalar_name} does not equal "
                f"{per_sample_weights.dtype.scalar_name} (while checking arguments for "
                "embedding_bag)"
            )
        if tuple(per_sample_weights.shape) != tuple(indices.shape):
            raise RuntimeError(
                "embedding_bag: expected per_sample_weights to have the same shape as the indices, "
                f"but got {list(per_sample_weights.shape)} and {list(indices.shape)}."
            )


def _check_offsets(offsets: Any, count: int, include_last_offset: bool) -> None:
    if not offsets.shape[0]:
        if include_last_offset:
            raise RuntimeError("include_last_offset: number of offset should be at least 1")
        return
    backend = offsets._backend
    if not backend.is_device or offsets.is_meta or backend.arrays.lazy:
        return  # what they are is not known yet
    first, last = int(F.item(F.select(offsets, 0, 0))), int(F.item(F.select(offsets, 0, -1)))
    if first:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
            f"position 0. However, got {first}"
        )
    if last > count:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {count} but got offsets[-1] of "
            f"{last}"
        )


def embedding_renorm(self: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Any:
    """Scale rows of `self` at `indices` that are longer than `max_norm` down to it, in place."""
    if self.ndim != 2:
        raise RuntimeError(
            f"Expected 2-dimensional tensor, but got {self.ndim}-dimensional tensor for argument "
            "#1 'self' (while checking arguments for embedding_renorm_)"
        )
    if not (self.dtype.is_floating_point or self.dtype.is_complex):
        raise RuntimeError(
            "expected scalar type of self to be a floating-point one, but got "
            f"{self.dtype.scalar_name} (while checking arguments for embedding_renorm_)"
        )
    if indices.dtype not in (int32, int64):
        raise RuntimeError(
            "Expected tensor for argument #2 'indices' to have one of the following scalar types: "
            f"Long, Int; but got {indices.dtype.scalar_name} instead (while checking arguments for "
            "embedding_renorm_)"
        )
    places = F.to(F.reshape(indices, (-1,)), dtype=int64)
    rows = F.index_select(self, 0, places)
    norms = F.linalg_vector_norm(rows, norm_type, [1], True)
    shorter = F.mul(rows, F.mul(F.reciprocal(F.add(norms, 1e-7)), max_norm))
    return F.index_copy_(self, 0, places, F.where_self(F.gt(norms, max_norm), shorter, rows))


def embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """Return the rows of `weight` that `indices` name."""
    if weight.ndim != 2:
        raise RuntimeError(
            f"'weight' must be 2-D, but it is {weight.ndim}-D. Give one row per entry."
        )
    if indices.ndim == 1:
        return F.index_select(weight, 0, indices)
    rows = F.index_select(weight, 0, F.reshape(indices, (-1,)))
    return F.view(rows, (*indices.shape, weight.shape[1]))
