"""Dimensions and sizes as operators are given them: wrapped, inferred and checked, in PyTorch's
words.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NoReturn


def wrap_dim(dim: int, ndim: int) -> int:
    """Return `dim`, counted from 0. A 0-d tensor takes 0 and -1, as if it had one dimension.

    Raises
    ------
    IndexError
        If there is no such dimension.
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
    """Return the dimensions of a reduction, counted from 0; none named means all. Empty for a 0-d
    tensor.

    Raises
    ------
    IndexError
        If there is no such dimension.
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
    wrapped = tuple([wrap_dim(dim, ndim) for dim in dims])
    if len(wrapped) > 1 and len(set(wrapped)) < len(wrapped):
        twice = next(dim for dim in wrapped if wrapped.count(dim) > 1)
        raise RuntimeError(
            f"dim {twice} appears multiple times in the list of dims. Name every dimension once."
        )
    return wrapped if ndim else ()


def infer_size(shape: Sequence[int], numel: int) -> tuple[int, ...]:
    """Return `shape` with -1 replaced by what is left.

    Raises
    ------
    RuntimeError
        If `shape` does not hold `numel` elements.
    """
    sizes = tuple([int(size) for size in shape])
    if sizes.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred: give all sizes but one.")
    known = math.prod([size for size in sizes if size != -1])
    if -1 in sizes and known and numel % known == 0:
        return tuple([numel // known if size == -1 else size for size in sizes])
    if -1 in sizes and known == 0 == numel:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(sizes)} because the "
            "unspecified dimension "
            "size -1 can be any value and is ambiguous. Give its size."
        )
    if -1 in sizes or known != numel:
        raise RuntimeError(
            f"shape '{list(sizes)}' is invalid for input of size {numel}. Choose sizes whose "
            f"product is {numel}."
        )
    return sizes
