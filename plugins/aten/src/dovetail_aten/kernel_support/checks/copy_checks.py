"""Checks of operators that copy into another shape, by kernels and on the meta device alike: each
function returns what it found out on the way.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..dims import wrap_dim
from .view_checks import check_diagonal


def cat_error(shapes: Sequence[Sequence[int]], axis: int) -> RuntimeError | None:
    """Return the error for shapes that cannot be joined along `axis`; None if they can."""
    first = shapes[0]
    for position, shape in enumerate(shapes):
        if len(shape) != len(first):
            return RuntimeError(
                f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}"
            )
        for dim, (expected, size) in enumerate(zip(first, shape, strict=True)):
            if dim != axis and expected != size:
                return RuntimeError(
                    f"Sizes of tensors must match except in dimension {axis}. Expected size "
                    f"{expected} but got size {size} for tensor number {position} in the list."
                )
    return None


def check_cat(ndims: Sequence[int]) -> None:
    """Raise an error for no tensors to join, and for one without dimensions."""
    if not ndims:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors. Give at least one.")
    for position, ndim in enumerate(ndims):
        if not ndim:
            raise RuntimeError(
                f"zero-dimensional tensor (at position {position}) cannot be concatenated. Use "
                "stack."
            )


def check_stack(shapes: Sequence[Sequence[int]], dim: int) -> int:
    """Return the new dimension, counted from 0, of tensors of one shape. Raise RuntimeError if
    there are none, or they differ.
    """
    if not shapes:
        raise RuntimeError("stack expects a non-empty TensorList. Give at least one.")
    shape = shapes[0]
    place = wrap_dim(dim, len(shape) + 1)
    for position, other in enumerate(shapes):
        if other != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and "
                f"{list(other)} at entry {position}"
            )
    return place


def check_repeats(repeats: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
    """Return `shape` with as many dimensions as there are numbers of repetitions. Raise
    RuntimeError for too few, and for negative ones.
    """
    lead = len(repeats) - len(shape)
    if lead < 0:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            f"tensor: {len(repeats)} < {len(shape)}"
        )
    if any([n < 0 for n in repeats]):
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(repeats)}: {list(repeats)}"
        )
    return (1,) * lead + tuple(shape)


def padded_shape(shape: Sequence[int], pad: Sequence[int]) -> list[int]:
    """Return the sizes of a padded tensor. Raise RuntimeError for pairs that do not fit it, and for
    negative padding that leaves less than nothing.
    """
    ndim = len(shape)
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * ndim:
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. "
            f"Pad length is {len(pad)} while the input has {ndim} dimensions."
        )
    found = list(shape)
    for pair in range(len(pad) // 2):
        dim = ndim - 1 - pair
        low, high, size = pad[2 * pair], pad[2 * pair + 1], shape[dim]
        if size + low + high < 0 or min(low, 0) + min(high, 0) < -size:
            raise RuntimeError(
                f"narrow(): length must be non-negative: padding {low} and {high} leaves nothing "
                f"of size {size} at dimension {dim}"
            )
        found[dim] += low + high
    return found


def check_triangle(name: str, ndim: int) -> None:
    """Raise RuntimeError for the triangle of a tensor without two dimensions."""
    if ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")


def embedded_shape(
    shape: Sequence[int], offset: int, dim1: int, dim2: int
) -> tuple[list[int], tuple[int, int]]:
    """Return the sizes of matrices with the last dimension along a diagonal, and both dimensions
    of the matrices, counted from 0.
    """
    dims = check_diagonal(len(shape) + 1, dim1, dim2)
    size = shape[-1] + abs(offset)
    found = list(shape[:-1])
    for dim in sorted(dims):
        found.insert(dim, size)
    return found, dims
