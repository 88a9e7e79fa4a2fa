"""Whether strided arrays share an element, with themselves or with another: columns of a matrix lie
between each other's first and last element, and share none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_MAX_STEPS = 10_000
"""After how many steps the search is given up."""


class Placement(NamedTuple):
    """Where the elements of an array lie.

    Attributes
    ----------
    address
        Of the first element, in bytes.
    shape
        Number of elements of each dimension.
    strides
        In bytes; may be negative or zero.
    itemsize
        Bytes of an element.
    """

    address: int
    shape: Sequence[int]
    strides: Sequence[int]
    itemsize: int


def may_overlap_itself(shape: Sequence[int], strides: Sequence[int], itemsize: int = 1) -> bool:
    """Return whether two elements of an array may share a place: gaps between them are none.

    Parameters
    ----------
    strides, itemsize
        In bytes, or the former in elements.
    """
    extent = itemsize
    for stride, size in sorted(zip(strides, shape, strict=True)):
        if size == 0:
            return False
        if size != 1:
            if stride < extent:
                return True
            extent += (size - 1) * stride
    return False


def share_bytes(a: Placement, b: Placement) -> bool:
    """Return whether two arrays share a byte; True if that is too hard to tell.

    An element of each lies ``sum(step * place)`` bytes apart, over the dimensions of both. The
    search takes the largest step first and, for each dimension, only those places from which the
    smaller steps can still reach.
    """
    if 0 in a.shape or 0 in b.shape:
        return False
    terms = _terms(a, b)
    # The least and the most that the terms from each one on can add.
    least, most = [0], [0]
    for step, low, high in reversed(terms):
        least.append(least[-1] + step * low)
        most.append(most[-1] + step * high)
    least.reverse()
    most.reverse()
    steps = 0
    open_distances = [(0, a.address - b.address)]
    while open_distances:
        level, distance = open_distances.pop()
        if level == len(terms):
            if -a.itemsize < distance < b.itemsize:
                return True
            continue
        steps += 1
        if steps > _MAX_STEPS:
            return True
        step, low, high = terms[level]
        first = -((distance + most[level + 1] + a.itemsize - 1) // step)
        last = (b.itemsize - 1 - distance - least[level + 1]) // step
        open_distances += [
            (level + 1, distance + step * place)
            for place in range(max(low, first), min(high, last) + 1)
        ]
    return False


def _terms(a: Placement, b: Placement) -> list[tuple[int, int, int]]:
    """Return the steps of the dimensions of both, the largest first, each with the least and the
    greatest number of times that it is taken.
    """
    found: dict[int, tuple[int, int]] = {}
    for placement, sign in ((a, 1), (b, -1)):
        for size, stride in zip(placement.shape, placement.strides, strict=True):
            step = stride * sign
            if step == 0 or size == 1:
                continue
            low, high = found.get(abs(step), (0, 0))
            found[abs(step)] = (low, high + size - 1) if step > 0 else (low - size + 1, high)
    return [(step, *found[step]) for step in sorted(found, reverse=True)]
