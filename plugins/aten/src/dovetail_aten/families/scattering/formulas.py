"""Derivatives of reductions at places, and of what is written at places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...derivative_helpers.last_writes import numbered, of_last_writes
from ...derivative_helpers.readable_values import readable
from ...typing import Namespace, TensorLike


def index_fill_value_backward(k: Namespace, grad: TensorLike, dim: int, index: TensorLike) -> Any:
    """Return the gradient of the number that index_fill writes: the sum where it was written."""
    filled = k.index_fill(k.zeros_like(grad), dim, index, 1)
    return k.sum(k.masked_fill(grad, k.eq(filled, 0), 0))


def index_copy_source_backward(
    k: Namespace, grad: TensorLike, dim: int, index: TensorLike, source: TensorLike
) -> Any:
    """Return the gradient of the source of index_copy: where an index is there twice, of what was
    written last.
    """
    taken = k.reshape(k.index_select(grad, dim, index), source.shape)
    if not source.ndim or index.shape in ((), (1,)):
        return taken
    numbers = numbered(k, index)
    written = k.index_copy(k.new_zeros(numbers, (grad.shape[dim],)), 0, index, numbers)
    place = dim % source.ndim
    shape = [-1 if d == place else 1 for d in range(source.ndim)]
    last = k.reshape(k.index_select(written, 0, index), shape)
    return of_last_writes(k, taken, last, k.reshape(numbers, shape))


def put_source_backward(
    k: Namespace, grad: TensorLike, index: TensorLike, source: TensorLike, accumulate: bool
) -> Any:
    """Return the gradient of the source of put: where an index is there twice, of what was written
    last, unless all are added up.
    """
    taken = k.take(grad, index)
    if not accumulate:
        numbers = numbered(k, index)
        written = k.put(k.new_zeros(numbers, grad.shape), index, numbers)
        taken = of_last_writes(k, taken, k.take(written, index), numbers)
    return k.reshape(taken, source.shape)


def masked_scatter_backward(
    k: Namespace, grad: TensorLike, mask: object, sizes: Sequence[int]
) -> Any:
    """Return the gradient of the source of masked_scatter: `grad` where the mask is true, in order,
    and 0 for elements that were not used.
    """
    flat = k.new_zeros(grad, sizes)
    if 0 in sizes:
        return flat
    mask = k.reshape(k.expand(mask, grad.shape), (-1,))
    places = k.clamp_min(k.sub(k.cumsum(mask, 0), 1), 0)
    used = k.masked_fill(k.reshape(grad, (-1,)), k.logical_not(mask), 0)
    return k.reshape(k.index_add(k.reshape(flat, (-1,)), 0, places, used), sizes)


def index_reduce_backward(
    k: Namespace,
    grad: TensorLike,
    self: Any,
    dim: int,
    index: TensorLike,
    source: TensorLike,
    reduce: str,
    include_self: bool,
    result: TensorLike,
) -> tuple[Any, Any]:
    """Return the gradients of index_reduce: those of scatter_reduce at every element of a slice."""
    places = index
    if source.ndim:
        place = dim % source.ndim
        shape = [-1 if d == place else 1 for d in range(source.ndim)]
        places = k.expand(k.reshape(index, shape), source.shape)
    return scatter_reduce_backward(
        k, grad, self, dim, k.reshape(places, source.shape), source, reduce, include_self, result
    )


def scatter_reduce_backward(
    k: Namespace,
    grad: TensorLike,
    self: Any,
    dim: int,
    index: TensorLike,
    src: TensorLike,
    reduce: str,
    include_self: bool,
    result: TensorLike,
) -> tuple[Any, Any]:
    """Return the gradients of scatter_reduce with respect to `self` and `src`."""
    if reduce == "sum":
        of_self, of_src = grad, k.gather(grad, dim, index)
    elif reduce == "prod":
        of_self, of_src = _of_product(k, grad, self, dim, index, src, include_self, result)
    elif reduce == "mean":
        kept = k.ones_like(grad) if include_self else k.zeros_like(grad)
        count = k.scatter_add(kept, dim, index, k.new_ones(grad, src.shape))
        of_self = k.div(grad, k.masked_fill(count, k.eq(count, 0), 1))
        of_src = k.gather(of_self, dim, index)
    else:
        # Elements that are equal to the extreme one share the gradient. Where none is, the extreme
        # is NaN, and so are the gradients: 0 would hide it.
        own = k._to_copy(k.eq(self, result), dtype=grad.dtype)
        if not include_self:
            own = k.scatter(own, dim, index, 0)
        theirs = k._to_copy(k.eq(src, k.gather(result, dim, index)), dtype=grad.dtype)
        count = k.scatter_add(own, dim, index, theirs)
        shared = k.div(grad, count)
        of_self, of_src = k.mul(shared, own), k.mul(k.gather(shared, dim, index), theirs)
    if not include_self:
        of_self = k.scatter(of_self, dim, index, 0)
    return of_self, of_src


def _of_product(
    k: Namespace,
    grad: TensorLike,
    self: Any,
    dim: int,
    index: TensorLike,
    src: TensorLike,
    include_self: bool,
    result: TensorLike,
) -> tuple[Any, Any]:
    """Return the gradients of products: of each factor that of the others."""
    ones = k.ones_like(self)
    others = k.scatter_reduce(ones, dim, index, src, "prod", include_self=True)
    of_self = k.mul(grad, k.conj(others))
    is_zero = k.eq(src, 0)
    zeros = k.scatter_add(k.zeros_like(grad), dim, index, k._to_copy(is_zero, dtype=grad.dtype))
    several = readable(k.ge(k.abs(zeros), 2))
    if src.ndim and (several is None or bool(k.any(several))):
        factor = _products_of_others(k, dim, index, src)
        if include_self:
            factor = k.mul(factor, k.gather(self, dim, index))
        return of_self, k.mul(k.gather(grad, dim, index), k.conj(factor))
    alone = k.logical_and(is_zero, k.eq(k.gather(zeros, dim, index), 1))
    # Without the only zero, the product of its place is that of the others.
    without = k.masked_fill(src, alone, 1)
    rest = k.scatter_reduce(self, dim, index, without, "prod", include_self=include_self)
    divided = k.div(k.gather(result, dim, index), k.masked_fill(src, is_zero, 1))
    factor = k.where(alone, k.gather(rest, dim, index), divided)
    return of_self, k.mul(k.gather(grad, dim, index), k.conj(factor))


def _products_of_others(k: Namespace, dim: int, index: Any, src: TensorLike) -> Any:
    """Return for each factor the product of the others of its place, from a table of all pairs:
    where several are zero, higher derivatives need each product by itself.
    """
    places, factors = k.transpose(index, dim, -1), k.transpose(src, dim, -1)
    count = k.arange(places.shape[-1], device=index.device)
    is_other = k.logical_and(
        k.eq(k.unsqueeze(places, -1), k.unsqueeze(places, -2)),
        k.ne(k.unsqueeze(count, -1), k.unsqueeze(count, -2)),
    )
    table = k.expand(k.unsqueeze(factors, -2), is_other.shape)
    made = k.prod(k.masked_fill(table, k.logical_not(is_other), 1), -1)
    return k.transpose(made, dim, -1)
