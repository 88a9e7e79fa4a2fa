"""Adding at repeated places in ways that `numpy.add.at` is fast for, or without it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import prod
from typing import Any, Final

import numpy as np

from .sums_of_rows import LONG, add_rows, row_after_row

Array = np.ndarray[Any, Any]

add_at: Final = np.add.at
_BLOCK: Final = 1 << 15
"""Elements at a time, whose places stay in the cache."""
_FEW: Final = 1 << 10
"""Elements of an index up to which it is worth keeping where their lines begin."""
_EVERY: Final = slice(None)
_FEW_OF_SLICES: Final = 1 << 7
"""Elements of slices up to which their own key is fastest."""
_LONG: Final = np.dtype(np.int64)
_LONG_LINE: Final = 512
"""Elements of a line from which a call for each costs less than where the lines begin."""
_ROUNDS: Final = 10
"""How often one slice may be named before they are added otherwise."""


def _places_of(array: Array, dim: int, index: Array, first: int) -> Array:
    """Return where in a C-contiguous array, counted in elements, the elements at `index` along
    `dim` lie; `index` begins with row `first`.
    """
    if not first and index.size <= _FEW and index.dtype == _LONG:
        step, lines = _lines_of(array.shape, index.shape, dim)
        return np.add(lines, index if step is None else np.multiply(index, step))
    steps = [stride // array.itemsize for stride in array.strides]
    places: Array = index if steps[dim] == 1 else index * np.int64(steps[dim])
    for each, (length, step) in enumerate(zip(index.shape, steps, strict=True)):
        if each != dim and step:
            start = first * step if each == 0 else 0
            shape = [1] * index.ndim
            shape[each] = length
            line = np.arange(start, start + length * step, step, dtype=np.int64).reshape(shape)
            places = np.add(places, line, out=None if places is index else places)
    return places


@lru_cache(64)
def _lines_of(shape: tuple[int, ...], places: tuple[int, ...], dim: int) -> tuple[Any, Array]:
    """Return how far apart elements along `dim` of an array of `shape` lie, None for 1, and where
    each line along `dim` begins, for an index that has the shape `places` and is all of it.
    """
    steps = [prod(shape[each + 1 :]) for each in range(len(shape))]
    lines = np.zeros(places, np.int64)
    for each, (length, step) in enumerate(zip(places, steps, strict=True)):
        if each != dim:
            lines += (np.arange(length) * step).reshape(-1, *[1] * (len(places) - 1 - each))
    return None if steps[dim] == 1 else np.array(steps[dim]), lines


def in_rows(index: Array) -> Iterator[slice]:
    """Yield parts of the first dimension of `index` that are a block together."""
    step = max(1, _BLOCK * len(index) // index.size)
    for start in range(0, len(index), step):
        yield slice(start, start + step)


def gathered(array: Array, dim: int, index: Array) -> Array:
    """Return the elements of a C-contiguous array at `index` along `dim`, which are there."""
    flat = array.reshape(-1)
    if index.size <= _FEW:
        return flat.take(_places_of(array, dim, index, 0))
    made = np.empty(index.shape, array.dtype)
    length = index.shape[-1]
    if (
        dim == array.ndim - 1 > 0
        and length >= _LONG_LINE
        and index.shape[:-1] == array.shape[:-1]
        and index.flags.c_contiguous
    ):
        lines = (array.reshape(-1, array.shape[-1]), index.reshape(-1, length))
        for line, places, target in zip(*lines, made.reshape(-1, length), strict=True):
            line.take(places, None, target, "clip")
        return made
    for rows in in_rows(index):
        flat.take(_places_of(array, dim, index[rows], rows.start), None, made[rows], "clip")
    return made


def scatter_into(array: Array, dim: int, index: Array, source: Array, combine: Any) -> None:
    """Write elements, or one number, into a C-contiguous array at `index` along `dim`: by one place
    for each element, which is what NumPy is fast for.

    Parameters
    ----------
    combine
        The method `at` of what combines them with those that are there; None if they take their
        place.
    """
    flat = array.reshape(-1)
    if index.size <= _FEW:
        places = flat_places(array, dim, index)
        put_at(flat, places, source.reshape(-1) if source.ndim else source, combine)
        return
    for rows in in_rows(index):
        places = _places_of(array, dim, index[rows], rows.start).reshape(-1)
        put_at(flat, places, source[rows].reshape(-1) if source.ndim else source, combine)


def flat_places(array: Array, dim: int, index: Array) -> Array:
    """Return where in a C-contiguous array the elements at `index` along `dim` lie, in one line."""
    return _places_of(array, dim, index, 0).reshape(-1)


def put_at(flat: Array, places: Array, values: Array, combine: Any) -> None:
    """Write `values` at `places`, or combine them with what is there."""
    if combine is None:
        flat[places] = values
    else:
        combine(flat, places, values)


def combine_at(function: Any, array: Array, key: tuple[Any, ...], values: Array) -> None:
    """Combine `values` with what is at ``[key]`` by a function of NumPy: many slices row after row,
    or by one place for each element.
    """
    dim, index = len(key) - 1, key[-1]
    if (
        array.ndim == 1
        or values.ndim != array.ndim
        or values.size <= _FEW_OF_SLICES
        or values.dtype != array.dtype
        or not array.flags.c_contiguous
        or index.ndim != 1
        or index.min() < 0
        or any([each != _EVERY for each in key[:-1]])
    ):
        function.at(array, key, values)
        return
    width = prod(array.shape[1:])
    if not dim and width >= LONG:
        rows = values.reshape(len(index), width)
        row_after_row(function, array.reshape(-1, width), index, rows)
        return
    shape = [1] * array.ndim
    shape[dim] = len(index)
    every = np.broadcast_to(index.reshape(shape), values.shape)
    scatter_into(array, dim, every, values, function.at)


def add_slices(array: Array, dim: int, index: Array, source: Array) -> bool:
    """Add slices to a C-contiguous array at `index` along `dim`: all first occurrences, then the
    second ones, …; return False, and add none, if some slice is named too often for that.
    """
    length = array.shape[dim]
    inner = prod(array.shape[dim + 1 :])
    if dim == 0 and inner > 1:
        add_rows(array.reshape(length, inner), index, source.reshape(len(index), inner))
        return True
    lead = prod(array.shape[:dim])
    target = array.reshape(lead, length, inner)
    slices = source.reshape(lead, len(index), inner)
    rounds = _rounds(index)
    if inner == 1 and (
        rounds is None or any([places.__class__ is not slice for places, _ in rounds])
    ):
        every = np.broadcast_to(index, (lead, len(index)))
        scatter_into(target[..., 0], 1, every, slices[..., 0], add_at)
        return True
    if rounds is None:
        return False
    step = max(1, _BLOCK // (max(length, len(index)) * inner))
    for start in range(0, lead, step):
        into, parts = target[start : start + step], slices[start : start + step]
        for places, positions in rounds:
            into[:, places] += parts[:, positions]
    return True


def _rounds(index: Array) -> list[tuple[Any, Any]] | None:
    """Return places, of which each is named once, with the positions in `index` where they are,
    until all are; None if that takes many rounds. What is equally far apart is a slice.
    """
    order = index.argsort(kind="stable")
    ordered = index[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    counts = np.diff(starts, append=len(index))
    if counts.max() > _ROUNDS:
        return None
    rank = np.empty(len(index), np.int64)
    rank[order] = np.arange(len(index)) - starts.repeat(counts)
    found = []
    for each in range(int(counts.max())):
        positions = np.flatnonzero(rank == each)
        found.append((_as_slice(index[positions]), _as_slice(positions)))
    return found


def _as_slice(places: Array) -> Any:
    """Return places as a slice if they are equally far apart."""
    steps = np.diff(places)
    step = int(steps[0]) if len(steps) else 1
    if step < 1 or (steps != step).any():
        return places
    return slice(int(places[0]), int(places[-1]) + 1, step)


def add_at_leading(array: Array, key: tuple[Any, ...], values: Any) -> bool:
    """Add `values` to `array` at ``[key]`` if that names places along the leading dimensions;
    return whether it does.

    Elements are added by one index each, and rows by runs of equal indices.
    """
    leading = len(key)
    arrays = [each for each in key if isinstance(each, np.ndarray) and each.dtype.kind in "iu"]
    if not leading or len(arrays) != leading or not array.flags.c_contiguous or not array.size:
        return False
    places: Any = 0
    for index, length in zip(arrays, array.shape, strict=False):
        if not index.size or index.min() < 0 or index.max() >= length:
            return False
        places = places * length + index
    inner = array.shape[leading:]
    values = np.broadcast_to(values, (*places.shape, *inner))
    if array.dtype != values.dtype:
        return False
    width = prod(inner)
    target = array.reshape(-1, width)
    if width == 1:
        np.add.at(target[:, 0], places.reshape(-1), values.reshape(-1))
    else:
        add_rows(target, places.reshape(-1), values.reshape(-1, width))
    return True
