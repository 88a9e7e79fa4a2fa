"""Bounds of views that are given by sizes, strides and offset: what every backend's stride trick
passes through before it runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

_BEYOND: Final = 1 << 63
"""Exclusive upper limit of addresses: sizes and strides in bytes stay below it."""


def extent(size: Sequence[int], stride: Sequence[int]) -> int:
    """Return how many elements of memory lie from the first element of a view to its last."""
    if 0 in size:
        return 0
    return 1 + sum([(length - 1) * step for length, step in zip(size, stride, strict=True)])


def shares_places(size: Sequence[int], stride: Sequence[int]) -> bool:
    """Return whether several elements of a view, an expanded one, share a place in memory."""
    return any([not step and length > 1 for length, step in zip(size, stride, strict=True)])


def repeats_places(size: Sequence[int], stride: Sequence[int]) -> bool:
    """Return whether a strided view contains an element several times."""
    if 0 in size:
        return False
    steps = sorted((step, length) for length, step in zip(size, stride, strict=True) if length > 1)
    reach = 0
    for step, length in steps:
        if step <= reach:
            break
        reach += step * (length - 1)
    else:
        return False
    # Dimensions that reach across each other may still miss each other: all places tell.
    places = {0}
    for step, length in steps:
        places = {place + step * each for place in places for each in range(length)}
    return len(places) < math.prod(size)


def check_strides(size: Sequence[int], stride: Sequence[int], itemsize: int) -> None:
    """Raise an error for sizes and strides that describe no tensor, or one beyond the address
    space. Raises RuntimeError for lists of different length, negative numbers, and numbers beyond
    64 bits.
    """
    size, stride = list(size), list(stride)
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: {stride} and {size}")
    if min(stride, default=0) < 0:
        raise RuntimeError(
            "as_strided: Negative strides are not supported at the moment, got strides: "
            f"{stride}. Use flip to read backwards."
        )
    if min(size, default=0) < 0:
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(size)}: {size}. Give sizes of "
            "0 or more."
        )
    if math.prod([length or 1 for length in size]) * itemsize >= _BEYOND:
        raise RuntimeError(
            f"numel: integer multiplication overflow: a tensor of sizes {size} has more elements "
            "than 64 bits count. Give smaller sizes."
        )
    if max([*stride, extent(size, stride)]) * itemsize >= _BEYOND:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={size} and strides={stride}. Give "
            "smaller strides."
        )


def check_view_bounds(
    size: Sequence[int], stride: Sequence[int], offset: int, itemsize: int, nbytes: int
) -> None:
    """Raise an error for a view that exceeds its memory.

    Parameters
    ----------
    size, stride, offset
        The view, in elements, from the start of the memory.
    itemsize
        Bytes of an element.
    nbytes
        Bytes of the memory.

    Raises
    ------
    RuntimeError
        If its lowest element lies before the memory, or its highest behind it; and as
        `check_strides`.
    """
    check_strides(size, stride, itemsize)
    if offset < 0:
        raise RuntimeError(
            f"Tensor: invalid storage offset {offset}: sizes {list(size)}, strides {list(stride)} "
            f"and storage offset {offset} begin before a storage of size {nbytes}. Give an offset "
            "of 0 or more."
        )
    reach = extent(size, stride)
    needed = (offset + reach) * itemsize
    if (reach and needed > nbytes) or needed >= _BEYOND:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, "
            f"and itemsize {itemsize} requiring a storage size of {needed} are out of bounds for "
            f"storage of size {nbytes}. Give sizes, strides and an offset that stay within it."
        )
