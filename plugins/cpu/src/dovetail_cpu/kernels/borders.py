"""Borders of an array's own elements: of small arrays by a table that is kept of where each element
comes from; of large ones, and the sums of gradients, by slices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import Any, Final

import numpy
import numpy as np

from dovetail_aten.families import Borders
from dovetail_aten.kernel_support import (
    bordered_shape,
    bordered_sizes,
    never_warns,
    sources_of,
    widened,
)

_FEW: Final = 1 << 11
"""Elements up to which a table costs less than slices."""
_ALL: Final = slice(None)
_add: Any = numpy.add


class FastBorders(Borders):
    """Borders in one step, or in place."""

    @never_warns
    def bordered(self, x: np.ndarray, pad: Sequence[int], mode: str) -> Any:
        """Return a copy with `pad` elements before and after, for dimensions from the last."""
        shape = x.shape
        if x.size <= _FEW:
            lines, table, wanted = _table_of(shape, tuple(pad), mode)
            return x.reshape(lines).take(table, 1).reshape(wanted)
        sources_of(shape, tuple(pad), mode)
        if min(pad) < 0:
            return Borders.bordered(self, x, pad, mode)
        made: Any = numpy.empty(bordered_shape(shape, pad), x.dtype)
        parts = list(_parts(made, shape, pad, mode))
        made[_core(shape, pad)] = x
        for border, source, _ in reversed(parts):
            border[...] = source
        return made

    @widened
    def bordered_backward(
        self, grad_output: np.ndarray, pad: Sequence[int], mode: str, input_size: Sequence[int]
    ) -> Any:
        """Return for each element the sum of what came from it."""
        sizes = bordered_sizes(grad_output.shape, pad, input_size)
        sources_of(sizes, tuple(pad), mode)
        if min(pad) < 0:
            return Borders.bordered_backward(self, grad_output, pad, mode, input_size)
        made = grad_output.copy()
        for border, source, axis in _parts(made, sizes, pad, mode):
            if mode == "replicate" and border.shape[axis] != 1:
                border = _add.reduce(border, axis, keepdims=True)
            _add(source, border, source)
        return made[_core(sizes, pad)].copy()


@lru_cache(128)
def _table_of(
    shape: tuple[int, ...], pad: tuple[int, ...], mode: str
) -> tuple[tuple[int, int], Any, tuple[int, ...]]:
    """Return the shape with a line for all that has a border, where the elements of a line with its
    border come from, and the shape of the result.
    """
    sources = sources_of(shape, pad, mode)
    first = len(shape) - len(sources)
    table: Any = numpy.zeros(1, numpy.int64)
    for size, places in zip(shape[first:], sources, strict=True):
        line = numpy.arange(size) if places is None else numpy.array(places, numpy.int64)
        table = _add.outer(table * size, line).reshape(-1)
    return (prod(shape[:first]), prod(shape[first:])), table, bordered_shape(shape, pad)


def _core(shape: Sequence[int], pad: Sequence[int]) -> tuple[Any, ...]:
    """Return where in the result the array itself is."""
    key: list[Any] = [_ALL] * len(shape)
    for place in range(len(pad) // 2):
        axis = len(shape) - 1 - place
        key[axis] = slice(pad[2 * place], pad[2 * place] + shape[axis])
    return tuple(key)


def _parts(
    made: np.ndarray, shape: Sequence[int], pad: Sequence[int], mode: str
) -> Iterator[tuple[Any, Any, int]]:
    """Yield each border of an array that has it, what it is made of, and its dimension, from the
    first: those of the first dimension have the borders of the others in them.
    """
    key: list[Any] = [_ALL] * len(shape)
    for place in reversed(range(len(pad) // 2)):
        axis = len(shape) - 1 - place
        before, after, size = pad[2 * place], pad[2 * place + 1], shape[axis]
        end = before + size
        sources = _slices(before, after, end, mode)
        borders = (slice(0, before), slice(end, end + after))
        for border, source, length in zip(borders, sources, (before, after), strict=True):
            if length:
                key[axis] = border
                outside = made[tuple(key)]
                key[axis] = source
                yield outside, made[tuple(key)], axis
        key[axis] = slice(before, end)


def _slices(before: int, after: int, end: int, mode: str) -> tuple[slice, slice]:
    """Return what the elements before and after those from `before` to `end` are made of."""
    if mode == "replicate":
        return slice(before, before + 1), slice(end - 1, end)
    if mode == "circular":
        return slice(end - before, end), slice(before, before + after)
    stop = end - 2 - after
    return slice(2 * before, before, -1), slice(end - 2, stop if stop >= 0 else None, -1)
