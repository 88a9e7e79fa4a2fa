"""Dimensions and sizes as operators are given them: wrapped, inferred and checked, in PyTorch's
words.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from mmap import mmap
from typing import Final, NoReturn

_BEYOND: Final = 1 << 63
"""The first number of bytes that no array has: the sizes and strides of array libraries are signed
integers of 64 bits, and some of them wrap around there.
"""
_MANY: Final = 1 << 16
"""Items that memory holds anyway."""


def check_size(size: Sequence[int], itemsize: int = 1) -> tuple[int, ...]:
    """Return `size` as a tuple.

    Parameters
    ----------
    size
        The shape of an array to be made.
    itemsize
        Bytes of each of its elements.

    Raises
    ------
    RuntimeError
        If a dimension is negative, or the array would have 2**63 bytes or more.
    """
    for length in size:
        if length < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {length}: {list(size)}"
            )
    if prod([length or 1 for length in size]) * itemsize >= _BEYOND:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(size)}: a tensor of {itemsize} "
            "bytes per element cannot have so many. Give smaller sizes."
        )
    return size if size.__class__ is tuple else tuple(size)


def check_room(count: int, itemsize: int) -> None:
    """Raise an error for a number of items that exceeds the memory, before a Python loop creates
    them.

    Parameters
    ----------
    count
        How many Python objects, or arrays, will be alive at the same time.
    itemsize
        Bytes of each of them, about.

    Raises
    ------
    RuntimeError
        If the system does not even give out addresses for them.
    """
    if count < _MANY:
        return
    try:
        mmap(-1, count * itemsize).close()
    except (OSError, OverflowError, ValueError):
        raise RuntimeError(
            f"can't allocate memory: the result needs {count} items of some {itemsize} bytes each. "
            "Pass smaller sizes."
        ) from None


def clamp_diagonal(offset: int, rows: int, columns: int) -> int:
    """Return the offset of the same diagonal of a matrix that is nearest to 0: array libraries keep
    offsets in integers of 32 bits, and diagonals beyond the corners are all empty.
    """
    return min(max(offset, -rows), columns)


def wrap_dim(dim: int, ndim: int) -> int:
    """Return the nonnegative number of the dimension `dim`. A 0-d tensor accepts 0 and -1, like a
    tensor of one dimension.

    Raises
    ------
    IndexError
        If the dimension does not exist.
    """
    if 0 <= dim < ndim:
        return dim
    if -ndim <= dim < 0:
        return dim + ndim
    if ndim == 0 and dim in (0, -1):
        return 0
    _out_of_range(dim, max(ndim, 1))


def _out_of_range(dim: int, ndim: int) -> NoReturn:
    raise IndexError(
        f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {dim})"
    )


def wrap_dims(dims: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Return the nonnegative numbers of the dimensions of a reduction. An empty `dim` means all
    dimensions; the result for a 0-d tensor is empty.

    Raises
    ------
    IndexError
        If the dimension does not exist.
    RuntimeError
        If one is named twice.
    """
    if dims is None:
        return tuple(range(ndim))
    if isinstance(dims, int):
        dim = wrap_dim(dims, ndim)
        return (dim,) if ndim else ()
    if not dims:
        return tuple(range(ndim))
    if len(dims) == 1 and ndim:
        dim = dims[0]
        return (dim if 0 <= dim < ndim else wrap_dim(dim, ndim),)
    return _wrapped(tuple(dims), ndim)


@lru_cache(256)
def _wrapped(dims: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    wrapped = tuple([wrap_dim(dim, ndim) for dim in dims])
    if len(wrapped) > 1 and len(set(wrapped)) < len(wrapped):
        twice = next(iter([dim for dim in wrapped if wrapped.count(dim) > 1]))
        raise RuntimeError(
            f"dim {twice} appears multiple times in the list of dims. Name every dimension once."
        )
    return wrapped if ndim else ()


def infer_size(size: Sequence[int], numel: int) -> tuple[int, ...]:
    """Return `size` with a -1 replaced by what is left of `numel` elements. Raises RuntimeError if
    the sizes do not multiply to `numel`, or leave the -1 open.
    """
    shape = list(size)
    known, open_dim = 1, None
    for dim, length in enumerate(shape):
        if length == -1:
            if open_dim is not None:
                raise RuntimeError(
                    "only one dimension can be inferred: give all sizes but one, at most one -1."
                )
            open_dim = dim
        elif length < 0:
            raise RuntimeError(
                f"invalid shape dimension {length} at index {dim} of shape {shape}. Give sizes of "
                "0 or more, or -1 for one to infer."
            )
        else:
            known *= length
    if open_dim is None:
        if known == numel:
            return tuple(shape)
    elif known:
        if numel % known == 0:
            shape[open_dim] = numel // known
            return tuple(shape)
    elif numel == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {shape} because the unspecified "
            "dimension size -1 can be any value and is ambiguous. Give its size."
        )
    raise RuntimeError(
        f"shape '{list(size)}' is invalid for input of size {numel}. Choose sizes whose product is "
        f"{numel}."
    )
