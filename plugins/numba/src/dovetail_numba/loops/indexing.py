"""Elements and rows at indices. A loop returns False, with its result undefined, for an index that
is out of range.
"""

from __future__ import annotations

from typing import Any

from .collection import Collection


def add_indexing(m: Any, loop: Collection) -> None:
    """Add the loops over the numbers of a module, `single` or `double`."""
    real = m.real

    @loop(">f2 f2 i2")
    def gather(out, x, index):
        length = x.shape[1]
        is_right = True
        for i in range(index.shape[0]):
            row, places, to = x[i], index[i], out[i]
            for j in range(places.size):
                place = places[j]
                if 0 <= place < length:
                    to[j] = row[place]
                else:
                    is_right = False
        return is_right

    @loop(">f2 i2 f2")
    def scatter_add(out, index, source):
        length = out.shape[1]
        is_right = True
        for i in range(index.shape[0]):
            to, places, row = out[i], index[i], source[i]
            for j in range(places.size):
                place = places[j]
                if 0 <= place < length:
                    to[place] += row[j]
                else:
                    is_right = False
        return is_right

    @loop(">f2 i1 f2 f i i i")
    def add_rows(out, index, source, factor, skipped, start, stop):
        length, width = out.shape
        is_right = True
        for i in range(index.size):
            place = index[i]
            if start <= place < stop:
                if place != skipped:
                    row, to = source[i], out[place]
                    if factor == real(1):
                        for j in range(width):
                            to[j] += row[j]
                    else:
                        for j in range(width):
                            to[j] += row[j] * factor
            elif place < 0 or place >= length:
                is_right = False
        return is_right


__all__ = ["add_indexing"]
