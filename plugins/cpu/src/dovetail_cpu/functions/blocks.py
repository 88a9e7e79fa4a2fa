"""Kernels of every element, evaluated in blocks that stay in the cache, whatever they are made of.

A kernel of ten steps passes ten times over its operands. In blocks the passes are over the cache,
and what they make on the way is small enough for the allocator to hand out the same memory again.
"""

from __future__ import annotations

from typing import Any, Final

import numpy

from dovetail_aten.kernel_support import Function

from ..memory.aligned_memory import aligned_empty
from ..memory.scratch import BLOCK_BYTES
from ..parallel.threads import run_pieces, shared_step

__all__ = ["BLOCK_BYTES", "UNIT", "contiguous_order", "in_blocks", "line_of"]

_LEAST_ITEM: Final = 4
"""Half precision is computed in single."""
UNIT: Final = 64
"""Elements that vectors of any length divide: blocks begin at multiples of it."""
_OF_FIRST: Final = 4
"""Blocks of each thread, where the first is computed alone."""

_array: Final = numpy.ndarray


def in_blocks(function: Function, *args: Any, **kwargs: Any) -> Any:
    """Return ``function(*args, **kwargs)``, which is an array or several of the shape of the
    operands.

    The blocks are of operands that lie in memory one after the other, in the same order. What is
    broadcast or has gaps is computed whole.
    """
    places = [place for place, each in enumerate(args) if each.__class__ is _array and each.ndim]
    operands = [args[place] for place in places]
    shape = operands[0].shape
    order = _order_of(operands, shape)
    if order is None or any([each.__class__ is _array and each.ndim for each in kwargs.values()]):
        return function(*args, **kwargs)
    lines = [line_of(each, order) for each in operands]
    size = lines[0].size
    step = BLOCK_BYTES // max(_LEAST_ITEM, *[each.itemsize for each in operands])
    # The first block shows what there is to write to: it is computed before all others.
    step = shared_step(step, -(-size // _OF_FIRST), size, UNIT)

    def block(start: int) -> Any:
        given = list(args)
        for place, line in zip(places, lines, strict=True):
            given[place] = line[start : start + step]
        return function(*given, **kwargs)

    first = block(0)
    parts = first if first.__class__ is tuple else (first,)
    results = tuple([aligned_empty(shape, each.dtype, order) for each in parts])
    targets = [line_of(each, order) for each in results]
    for target, part in zip(targets, parts, strict=True):
        target[:step] = part

    def compute(begin: int, end: int) -> None:
        for start in range(begin * step + step, min(end * step + step, size), step):
            made = block(start)
            parts = made if made.__class__ is tuple else (made,)
            for target, part in zip(targets, parts, strict=True):
                target[start : start + step] = part

    run_pieces(compute, -(-size // step) - 1, size)
    return results if first.__class__ is tuple else results[0]


def _order_of(operands: list[Any], shape: tuple[int, ...]) -> Any:
    """Return the order of memory, "C" or "F", that operands of one shape have; None if they have
    none.
    """
    if any([each.shape != shape for each in operands]):
        return None
    return contiguous_order(*operands)


def contiguous_order(*arrays: Any) -> Any:
    """Return the order, "C" or "F", in which arrays lie in memory without gaps; None if in none."""
    if all([each.flags.c_contiguous for each in arrays]):
        return "C"
    return "F" if all([each.flags.f_contiguous for each in arrays]) else None


def line_of(array: Any, order: str) -> Any:
    """Return the elements of a contiguous array in the order of memory."""
    return (array if order == "C" else array.T).reshape(-1)
