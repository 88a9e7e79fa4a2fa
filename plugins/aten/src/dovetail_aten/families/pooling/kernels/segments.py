"""Runs of adjacent elements along a line, such as averages are taken over."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from ....kernel_support.dims import check_room

Divisors = int | Sequence[Sequence[int]]
"""What sums are divided by: one number, or the product of one for each place along each dimension.
"""


class Runs(NamedTuple):
    """Runs of adjacent elements along one dimension, which may have different lengths.

    Attributes
    ----------
    size
        Length of the line.
    starts, stops
        The start and end of each run, in ascending order. Elements outside of the line are ignored.
    """

    size: int
    starts: tuple[int, ...]
    stops: tuple[int, ...]

    @property
    def lengths(self) -> tuple[int, ...]:
        """The number of elements of each run within the line."""
        return _lengths(self)

    def elements(self) -> tuple[tuple[Any, Any], ...]:
        """Return the indices of the first elements of all runs, of the second elements, and so on:
        a slice or a sequence, and which elements exist, None if all do. Others have the index of
        the nearest element that exists.
        """
        return _elements(self)

    def transposed(self) -> Runs:
        """Return, for each element, the run of the runs that contain it."""
        return _transposed(self)


@lru_cache(maxsize=1024)
def adaptive_runs(size: int, number: int) -> Runs:
    """Return `number` runs of nearly equal lengths that cover a line."""
    check_room(number, 80)
    starts = tuple([place * size // number for place in range(number)])
    stops = tuple([-(-(place + 1) * size // number) for place in range(number)])
    return Runs(size, starts, stops)


@lru_cache(maxsize=1024)
def _lengths(runs: Runs) -> tuple[int, ...]:
    pairs = zip(runs.starts, runs.stops, strict=True)
    return tuple([min(stop, runs.size) - max(start, 0) for start, stop in pairs])


@lru_cache(maxsize=1024)
def _transposed(runs: Runs) -> Runs:
    firsts = [bisect_right(runs.stops, place) for place in range(runs.size)]
    behinds = [bisect_right(runs.starts, place) for place in range(runs.size)]
    return Runs(len(runs.starts), tuple(firsts), tuple(behinds))


@lru_cache(maxsize=1024)
def _elements(runs: Runs) -> tuple[tuple[Any, Any], ...]:
    pairs = list(zip(runs.starts, runs.stops, strict=True))
    found = []
    # Padding may be any number of elements before and behind the line, where no run has any.
    first = min([-start for start in runs.starts], default=0)
    behind = max([min(stop, runs.size) - start for start, stop in pairs], default=0)
    for offset in range(max(first, 0), behind):
        within = [max(start, 0) <= start + offset < min(stop, runs.size) for start, stop in pairs]
        places = [
            min(max(start + offset, start, 0), stop - 1, runs.size - 1) for start, stop in pairs
        ]
        found.append((_as_slice(places), None if all(within) else tuple(within)))
    return tuple(found)


def _as_slice(places: list[int]) -> slice | tuple[int, ...]:
    """Return places as a slice if they are equally far apart."""
    step = places[1] - places[0] if len(places) > 1 else 1
    equal = all([b - a == step for a, b in pairwise(places)])
    return slice(places[0], places[-1] + 1, step) if equal and step > 0 else tuple(places)
