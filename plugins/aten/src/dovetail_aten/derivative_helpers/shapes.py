"""Shapes: dimensions put back, and numbers of elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..kernel_support.geometry.broadcasting import broadcast_shapes
from ..typing import Namespace, TensorLike


def wrap_dims(dims: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Return the dimensions named by `dims` as numbers from 0; none named means all."""
    return _wrapped(tuple(dims) if isinstance(dims, list) else dims, ndim)


@lru_cache(256)
def _wrapped(dims: Any, ndim: int) -> tuple[int, ...]:
    if isinstance(dims, int):
        dims = (dims,)
    if not dims:
        return tuple(range(ndim))
    return tuple([dim % ndim if ndim else 0 for dim in dims])


def restore_reduced_dims(k: Namespace, x: TensorLike, dims: Sequence[int], keepdim: bool) -> Any:
    """Return `x`, the result of a reduction over `dims`, with the reduced dimensions put back at
    size 1.
    """
    ndim = getattr(dims, "__len__", lambda: 1)()
    return x if keepdim or not ndim else _unsqueezed(k, x, wrap_dims(dims, x.ndim + ndim))


def unsqueeze_reduced(k: Namespace, x: Any, dims: Any, keepdim: bool, ndim: int) -> Any:
    """Return `x`, the result of a reduction of `ndim` dimensions over `dims`, so that it broadcasts
    over them.
    """
    return x if keepdim or not ndim or not x.ndim else _unsqueezed(k, x, wrap_dims(dims, ndim))


def _unsqueezed(k: Namespace, x: TensorLike, dims: tuple[int, ...]) -> Any:
    for dim in dims if len(dims) == 1 else sorted(dims):
        x = k.unsqueeze(x, dim)
    return x


def count(sizes: Sequence[int], dims: Sequence[int] | None = None) -> int:
    """Return the number of elements that a reduction of `sizes` over `dims` combines."""
    return math.prod([sizes[dim] for dim in wrap_dims(dims, len(sizes))]) if sizes else 1


def broadcast_size(*operands: Any) -> int:
    """Return how many elements the result of broadcasting `operands` has; None among them counts
    for nothing.
    """
    return math.prod(broadcast_shapes([x.shape for x in operands if x is not None]))


def zero_of(k: Namespace, x: TensorLike) -> Any:
    """Return a 0-d zero of the dtype and device of `x`."""
    return k.new_zeros(x, ())
