"""Derivatives of indexing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...derivative_helpers.last_writes import numbered, of_last_writes
from ...typing import Namespace, TensorLike


def index_backward(
    k: Namespace, grad: TensorLike, sizes: Sequence[int], indices: Sequence[object]
) -> Any:
    """Return the gradient of indexing with tensors, added up where an element was picked
    repeatedly.
    """
    return k.index_put(k.new_zeros(grad, sizes), indices, grad, True)


def index_put_values_backward(
    k: Namespace, grad: TensorLike, indices: Sequence[object], accumulate: bool
) -> Any:
    """Return the gradient of the values of index_put: where an element is named twice, of what was
    written last, unless all are added up.

    The writes are numbered in a tensor that has one entry along dimensions that are not indexed.
    """
    taken = k.index(grad, indices)
    given = [each for each in indices if each is not None]
    if accumulate or not given or any([_is_mask(each) for each in given]):
        return taken
    sizes = [1 if each is None else n for n, each in zip(grad.shape, indices, strict=False)]
    shape = sizes + [1] * (grad.ndim - len(sizes))
    numbers = numbered(k, k.index(k.new_zeros(given[0], shape), indices))
    zeros = k.new_zeros(numbers, shape)
    last = k.index(k.index_put(zeros, indices, numbers), indices)
    return of_last_writes(k, taken, last, numbers)


def _is_mask(index: Any) -> bool:
    return str(index.dtype).rpartition(".")[2] in ("bool", "uint8")


def scatter_src_backward(k: Namespace, grad: TensorLike, dim: int, index: TensorLike) -> Any:
    """Return the gradient of the source of scatter: where an index is there twice, of what was
    written last.
    """
    taken = k.gather(grad, dim, index)
    if not index.ndim or index.shape[dim] == 1:
        return taken
    numbers = numbered(k, index)
    written = k.scatter(k.new_zeros(numbers, grad.shape), dim, index, numbers)
    return of_last_writes(k, taken, k.gather(written, dim, index), numbers)


def index_select_backward(
    k: Namespace, grad: TensorLike, sizes: Sequence[int], dim: int, index: TensorLike
) -> Any:
    """Return the gradient of index_select."""
    if not sizes:
        return k.reshape(k.sum(grad), ())
    return k.index_add(k.new_zeros(grad, sizes), dim, index, grad)


def gather_backward(
    k: Namespace, grad: TensorLike, sizes: Sequence[int], dim: int, index: TensorLike
) -> Any:
    """Return the gradient of gather."""
    return k.scatter_add(k.new_zeros(grad, sizes), dim, index, grad)


def take_backward(k: Namespace, grad: TensorLike, sizes: Sequence[int], index: TensorLike) -> Any:
    """Return the gradient of take, which indexes the flattened input."""
    flat = k.new_zeros(grad, (math.prod(sizes),))
    return k.reshape(
        k.index_put(flat, [k.reshape(index, (-1,))], k.reshape(grad, (-1,)), True), sizes
    )


def masked_select_backward(k: Namespace, grad: TensorLike, sizes: Sequence[int], mask: Any) -> Any:
    """Return the gradient of masked_select."""
    ndim = max(len(sizes), mask.ndim)
    full = [1] * (ndim - len(sizes)) + list(sizes)
    other = [1] * (ndim - mask.ndim) + list(mask.shape)
    shape = [b if a == 1 else a for a, b in zip(full, other, strict=True)]
    return k.index_put(k.new_zeros(grad, shape), [k.expand(mask, shape)], grad)


def embedding_dense_double_backward(
    k: Namespace, grad: TensorLike, indices: TensorLike, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    """Return the gradient of embedding_dense_backward with respect to the gradient it was given."""
    rows = k.reshape(indices, (-1,))
    picked = k.index_select(grad, 0, rows)
    if padding_idx >= 0:
        picked = k.masked_fill(picked, k.unsqueeze(k.eq(rows, padding_idx), -1), 0)
    if scale_grad_by_freq:
        none = k.new_zeros(grad, (grad.shape[0],))
        counts = k.index_add(none, 0, rows, k.new_ones(grad, rows.shape))
        picked = k.div(picked, k.unsqueeze(k.index_select(counts, 0, rows), -1))
    return k.reshape(picked, (*indices.shape, *grad.shape[1:]))
