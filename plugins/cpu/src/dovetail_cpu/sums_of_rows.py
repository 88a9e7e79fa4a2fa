"""Adding rows to those rows of a matrix that indices name, also to one several times, without a
pass per row.
"""

from __future__ import annotations

from typing import Any

import numpy


def add_rows(target: Any, index: Any, rows: Any) -> None:
    """Add rows to the rows of `target` that `index` names: first all first occurrences, then the
    second ones, …
    """
    left = index
    while left.size:
        _, first = numpy.unique(left, return_index=True)
        if first.size * 8 < left.size:
            # One row is named by many: then its rows are summed where they are.
            order = left.argsort(kind="stable")
            places = left[order]
            starts = numpy.flatnonzero(numpy.concatenate(([True], places[1:] != places[:-1])))
            for start, end in zip(
                starts.tolist(), [*starts[1:].tolist(), places.size], strict=True
            ):
                target[places[start]] += rows[order[start:end]].sum(0)
            return
        target[left[first]] += rows[first]
        if first.size == left.size:
            return
        rest = numpy.ones(left.size, bool)
        rest[first] = False
        left, rows = left[rest], rows[rest]
