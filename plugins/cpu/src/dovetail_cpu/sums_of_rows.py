"""Adding rows to those rows of a matrix that indices name, also to one several times, without a
pass per row: by a sparse product of SciPy's where they are many.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy

from .constants import ones_of

_MANY = 1 << 15
"""Elements from which importing SciPy pays."""
_WIDER = 8
"""How many times as large as the rows the target may be: a product makes all of its rows."""
LONG = 128
"""Columns from which a call for each row costs less than a place for each of its elements."""
_VERY_WIDE = 2048
"""The same where there are so many rows that a product adds them."""
_WIDE = 257
"""Columns from which rows are added as they are."""
_FEW = 1 << 12
"""Elements up to which it does not pay to look whether a row is named twice."""
_BLOCK = 1 << 15
"""Elements whose places are made at a time."""
_BOOL = numpy.dtype(bool)
_FLOATS = (numpy.dtype(numpy.float32), numpy.dtype(numpy.float64))


def add_rows(target: Any, index: Any, rows: Any) -> None:
    """Add rows to the rows of `target` that `index` names, which are there: first all first
    occurrences, then the second ones, …
    """
    width = LONG if rows.size < _MANY else _VERY_WIDE
    if rows.shape[1] >= width and rows.dtype in _FLOATS and target.dtype == rows.dtype:
        row_after_row(numpy.add, target, index, rows)
        return
    if rows.size >= _MANY and rows.dtype in _FLOATS and target.size <= _WIDER * rows.size:
        _add_by_product(target, index, rows)
        return
    by_elements = rows.shape[1] < _WIDE and target.flags.c_contiguous and target.dtype != _BOOL
    if by_elements and (rows.size <= _FEW or index.size > len(target)):
        _add_by_elements(target, index, rows)
        return
    left = index
    while left.size:
        _, first = numpy.unique(left, return_index=True)
        if by_elements and 4 * first.size < 3 * left.size:
            _add_by_elements(target, left, rows)
            return
        if first.size * 8 < left.size:
            # One row is named by many: then its rows are summed where they are.
            order = left.argsort(kind="stable")
            places = left[order]
            starts = numpy.flatnonzero(numpy.concatenate(([True], places[1:] != places[:-1])))
            for start, end in zip(
                starts.tolist(), [*starts[1:].tolist(), places.size], strict=True
            ):
                target[places[start]] += rows[order[start:end]].sum(0, rows.dtype)
            return
        target[left[first]] += rows[first]
        if first.size == left.size:
            return
        rest = numpy.ones(left.size, bool)
        rest[first] = False
        left, rows = left[rest], rows[rest]


def row_after_row(function: Any, target: Any, index: Any, rows: Any) -> None:
    """Combine one row after the other with that of `target` which `index` names."""
    for place, row in zip(index.tolist(), rows, strict=True):
        line = target[place]
        function(line, row, out=line)


def _add_by_elements(target: Any, index: Any, rows: Any) -> None:
    """Add rows by one place for each element, which `numpy.add.at` is fast for."""
    width = rows.shape[1]
    flat, columns = target.reshape(-1), numpy.arange(width)
    step = max(1, _BLOCK // max(1, width))
    for start in range(0, len(index), step):
        places = index[start : start + step, None] * numpy.int64(width) + columns
        numpy.add.at(flat, places.reshape(-1), rows[start : start + step].reshape(-1))


def _add_by_product(target: Any, index: Any, rows: Any) -> None:
    """Add the product of the matrix that has a one for every row with the rows."""
    count = len(index)
    ones = import_module("scipy.sparse").csc_array(
        (ones_of(count, rows.dtype), index, numpy.arange(count + 1)), shape=(len(target), count)
    )
    numpy.add(target, ones @ numpy.ascontiguousarray(rows), out=target)
