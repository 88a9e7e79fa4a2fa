"""Kernels of every element, evaluated in blocks that stay in the cache, whatever they are made of.

A kernel of ten steps passes ten times over its operands. In blocks the passes are over the cache,
and what they make on the way is small enough for the allocator to hand out the same memory again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar

import numpy

from dovetail_aten.array_kernels import Function
from dovetail_aten.array_kernels.broadcasting import misfit

from .threads import run_pieces

__all__ = ["BLOCK_BYTES", "blockwise", "in_blocks"]

BLOCK_BYTES: Final = 1 << 17
"""Size of a block: a few of them fit into the cache of a core, and the steps outweigh the calls."""
_LEAST_ITEM: Final = 4
"""Half precision is computed in single."""
_WHOLE: Final = BLOCK_BYTES // _LEAST_ITEM
"""Elements up to which there is one block."""

_Family = TypeVar("_Family", bound=type)
_array: Final = numpy.ndarray


def blockwise(*methods: str) -> Callable[[_Family], _Family]:
    """Let the methods of a `Family` with these names, which compute every element for itself,
    compute large arrays in blocks.
    """

    def mark(family: _Family) -> _Family:
        for name in methods:
            setattr(family, name, _in_blocks(getattr(family, name)))
        return family

    return mark


def _in_blocks(method: Function) -> Function:
    # What `widened` and `fitted` wrap: a small array is spared a frame.
    inner = getattr(method, "__wrapped__", method)
    is_widened = inner is not method

    @wraps(method)
    def compute(self: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        if x.size > _WHOLE:
            return in_blocks(method, self, x, *args, **kwargs)
        if is_widened and x.dtype not in self.precision.halves:
            try:
                return inner(self, x, *args, **kwargs)
            except ValueError as error:
                raise misfit(error, x, *args) from error
        return method(self, x, *args, **kwargs)

    return compute


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
    lines = [_line(each, order) for each in operands]
    size = lines[0].size
    step = BLOCK_BYTES // max(_LEAST_ITEM, *[each.itemsize for each in operands])

    def block(start: int) -> Any:
        given = list(args)
        for place, line in zip(places, lines, strict=True):
            given[place] = line[start : start + step]
        return function(*given, **kwargs)

    first = block(0)
    parts = first if first.__class__ is tuple else (first,)
    results = tuple([numpy.empty(shape, each.dtype, order) for each in parts])
    targets = [_line(each, order) for each in results]
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
    if all([each.flags.c_contiguous for each in operands]):
        return "C"
    return "F" if all([each.flags.f_contiguous for each in operands]) else None


def _line(array: Any, order: str) -> Any:
    """Return the elements of a contiguous array in the order of memory."""
    return (array if order == "C" else array.T).reshape(-1)
