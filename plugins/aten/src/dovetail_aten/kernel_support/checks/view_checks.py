"""Checks of views and of parts, by kernels and on the meta device alike: each function returns what
it found out on the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ..dims import wrap_dim


def check_select(shape: Sequence[int], dim: int, index: int, remedy: str = "") -> int:
    """Return the dimension, counted from 0, of which one slice is taken. Raises IndexError if there
    is no such dimension or slice. `remedy` is for tensors without dimensions.
    """
    if not shape:
        raise IndexError(f"select() cannot be applied to a 0-dim tensor.{remedy}")
    axis = dim if 0 <= dim < len(shape) else wrap_dim(dim, len(shape))
    size = shape[axis]
    if not -size <= index < size:  # JAX takes the nearest
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(shape)} at "
            f"dimension {axis}"
        )
    return axis


def check_slice(ndim: int, dim: int, step: int, remedy: str = "") -> int:
    """Return the dimension, counted from 0, of which a range is taken. Raises IndexError if there
    is no such dimension. `remedy` is for tensors without dimensions. Raises RuntimeError for a step
    that is not positive.
    """
    if not ndim:
        raise IndexError(f"slice() cannot be applied to a 0-dim tensor.{remedy}")
    if step <= 0:
        raise RuntimeError(
            f"slice step must be positive, but is {step}. Use flip to read backwards."
        )
    return dim if 0 <= dim < ndim else wrap_dim(dim, ndim)


def check_diagonal(ndim: int, dim1: int, dim2: int) -> tuple[int, int]:
    """Return the two dimensions of a diagonal, counted from 0; raise RuntimeError for the same."""
    first, second = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(
            f"diagonal dimensions cannot be identical {dim1}, {dim2}. Name two dimensions."
        )
    return first, second


def diagonal_length(rows: int, columns: int, offset: int) -> int:
    """Return the number of elements of a diagonal."""
    return max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)


def check_split(shape: Sequence[int], split_size: int, dim: int) -> tuple[int, Sequence[int]]:
    """Return the dimension that is split, counted from 0, and where its pieces of `split_size`
    begin. Raise RuntimeError if there are none.
    """
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    axis = wrap_dim(dim, len(shape))
    size = shape[axis]
    if split_size < 0:
        raise RuntimeError(
            f"split expects split_size be non-negative, but got split_size={split_size}"
        )
    if split_size == 0 and size:
        raise RuntimeError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}"
        )
    return axis, range(0, max(size, 1), max(split_size, 1))


def check_split_sizes(
    shape: Sequence[int], split_sizes: Sequence[int], dim: int
) -> tuple[int, list[slice]]:
    """Return the dimension that is split, counted from 0, and its pieces of these sizes. Raise
    RuntimeError for sizes that are not those of all pieces.
    """
    if not shape:
        raise RuntimeError(
            "split expects at least a 1-dimensional tensor. Give it a dimension: x.reshape(1)."
        )
    axis = wrap_dim(dim, len(shape))
    if any([length < 0 for length in split_sizes]):
        raise RuntimeError(
            "split_with_sizes expects split_sizes have only non-negative entries, but got "
            f"split_sizes={list(split_sizes)}"
        )
    if sum(split_sizes) != shape[axis]:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {shape[axis]} (input tensor's "
            f"size at dimension {axis}), but got split_sizes={list(split_sizes)}"
        )
    pieces, start = [], 0
    for length in split_sizes:
        pieces.append(slice(start, start + length))
        start += length
    return axis, pieces


def check_t(ndim: int) -> None:
    """Raise RuntimeError for the transpose of a tensor of more than two dimensions."""
    if ndim > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 dimensions, but self is {ndim}D. Use transpose(dim0, "
            "dim1) or mT."
        )


@lru_cache(1024)
def check_permutation(dims: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    """Return an order of dimensions counted from 0; raise RuntimeError if it is not one of all."""
    if len(dims) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {ndim} is not equal "
            f"to len(dims) = {len(dims)}"
        )
    order = tuple([wrap_dim(dim, ndim) for dim in dims])
    if len(set(order)) < ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed. Name every dimension once.")
    return order


@lru_cache(1024)
def expanded_sizes(size: tuple[int, ...], own: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sizes of a tensor of the sizes `own` expanded to `size`, where -1 keeps a size.
    Raises RuntimeError if it does not broadcast to them.
    """
    lead = len(size) - len(own)
    if lead < 0:
        raise RuntimeError(
            f"expand(tensor of shape {list(own)}, size={list(size)}): the number of sizes "
            f"provided ({len(size)}) must be greater or equal to the number of dimensions in the "
            f"tensor ({len(own)})"
        )
    for dim, wanted in enumerate(size[:lead]):
        if wanted < 0:
            raise RuntimeError(
                f"The expanded size of the tensor ({wanted}) isn't allowed in a leading, "
                f"non-existing dimension {dim}"
            )
    found = list(size)
    for dim, present in enumerate(own, lead):
        if found[dim] == -1:
            found[dim] = present
        elif found[dim] != present and (present != 1 or found[dim] < 0):
            raise RuntimeError(
                f"The expanded size of the tensor ({found[dim]}) must match the existing size "
                f"({present}) at non-singleton dimension {dim}.  Target sizes: {list(size)}.  "
                f"Tensor sizes: {list(own)}"
            )
    return tuple(found)


def incompatible_view() -> RuntimeError:
    """Return the error for a shape that the strides of a tensor do not allow."""
    return RuntimeError(
        "view size is not compatible with input tensor's size and stride (at least one dimension "
        "spans across two contiguous subspaces). Use .reshape(...) instead."
    )
