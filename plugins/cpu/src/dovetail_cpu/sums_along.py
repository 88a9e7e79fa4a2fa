"""Sums of floats down the rows of matrices, in blocks whose sums are added: one row added after the
other loses digits where they are many, and NumPy adds short rows slowly.
"""

from __future__ import annotations

from math import prod
from typing import Any, Final

import numpy

from .constants import ones_of
from .products import dot, matmul

TALL: Final = 1 << 10
"""Rows up to which one product with ones sums them."""
_LONGEST: Final = 1 << 12
"""Longest row left to BLAS, which does not add pairwise."""
_FLOATS: Final = (numpy.dtype(numpy.float32), numpy.dtype(numpy.float64))
_MATRIX: Final = 2


def sum_along_middle(x: Any) -> Any:
    """Return the sums of `x`, which has shape (count, rows, columns), along its rows: an array of
    shape (count, columns). It is fastest in C order.

    Row after row is added to one of several sums, so that the sums of a block are a product of ones
    with long rows; in the end these are summed in the same way.
    """
    count, rows, columns = x.shape
    rest = None
    while rows > TALL:
        step = -(-rows // TALL)
        block = rows // step
        whole = step * block
        if whole < rows:
            more = sum_along_middle(x[:, whole:])  # these are fewer than `step`
            rest = more if rest is None else rest + more
        x = _product(x[:, :whole].reshape(count, block, step * columns))
        x, rows = x.reshape(count, step, columns), step
    total = _product(x)
    return total if rest is None else numpy.add(total, rest, total)


def _product(x: Any) -> Any:
    """Return the sums of matrices of at most `TALL` rows along these, as products with ones."""
    ones = ones_of(TALL, x.dtype)[: x.shape[1]]
    return dot(ones, x[0])[None] if len(x) == 1 else matmul(ones, x)


def sum_along(x: Any, dims: tuple[int, ...], keepdim: bool) -> Any | None:
    """Return the sums of a large array along `dims`, by products with ones; None where that does
    not pay.
    """
    shape, ordered = x.shape, dims
    ndim = len(shape)
    if len(dims) == ndim or x.dtype not in _FLOATS:
        return None
    if not x.flags.c_contiguous:
        if ndim != _MATRIX or not x.flags.f_contiguous:
            return _sum_of_strided(x, dims, keepdim)
        x, ordered = x.T, (1 - dims[0],)
    if len(dims) > 1:
        ordered = tuple(sorted([dim for dim in dims if shape[dim] > 1]))
    made = _sum(x, ordered) if ordered else None
    if made is None:
        return None
    if keepdim:
        return made.reshape([1 if dim in dims else size for dim, size in enumerate(shape)])
    if len(dims) == 1:
        return made.reshape(shape[: dims[0]] + shape[dims[0] + 1 :])
    return made.reshape([size for dim, size in enumerate(shape) if dim not in dims])


def _sum_of_strided(x: Any, dims: tuple[int, ...], keepdim: bool) -> Any | None:
    """Return the sums of an array that is not in C order along one dimension, in blocks of it; None
    where NumPy adds pairwise, or there are few.
    """
    axis, strides = dims[0], x.strides
    rows = x.shape[axis]
    if len(dims) > 1 or rows <= TALL or abs(strides[axis]) <= min(map(abs, strides)):
        return None
    step = -(-rows // TALL)
    block = rows // step
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    lead = (slice(None),) * axis
    made = x[(*lead, slice(step * block))].reshape(*before, step, block, *after)
    if len(strides) == _MATRIX and strides[1] == x.itemsize:
        made = matmul(ones_of(TALL, x.dtype)[:block], made)
    else:
        made = numpy.ascontiguousarray(numpy.add.reduce(made, axis + 1))
    made = sum_along_middle(made.reshape(prod(before), step, -1)).reshape(*before, *after)
    if step * block < rows:
        numpy.add(made, numpy.add.reduce(x[(*lead, slice(step * block, None))], axis), made)
    return numpy.expand_dims(made, axis) if keepdim else made


def _sum(x: Any, dims: tuple[int, ...]) -> Any | None:
    """Return the sums of an array in C order along `dims`, which are in order: of the last ones
    first.
    """
    shape, at = x.shape, len(dims) - 1
    while at and dims[at - 1] == dims[at] - 1:
        at -= 1
    first, end = dims[at], dims[-1] + 1
    length = prod(shape[first:end])
    if end == len(shape):
        if length > _LONGEST:
            return None
        made = dot(x.reshape(-1, length), ones_of(length, x.dtype))
        if not at:
            return made
        made, rest = made.reshape(shape[:first]), dims[:at]
        total = _sum(made, rest)
        return numpy.add.reduce(made, rest) if total is None else total
    if at:
        return None
    if not first and length <= TALL:
        return dot(ones_of(length, x.dtype), x.reshape(length, -1))
    return sum_along_middle(x.reshape(prod(shape[:first]), length, -1)) if length > TALL else None
