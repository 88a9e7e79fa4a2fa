"""A layered layout: vertices in rows, edges between neighbouring rows, few crossings, short edges.

The method is that of Sugiyama, Tagawa and Toda (1981): rows by longest path, an invisible vertex in
every row that an edge crosses, order within rows by barycenters, positions by isotonic regression.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

SWEEPS = 12
"""Number of times that rows are ordered, and then moved, by their neighbours."""

LONGEST_BEND = 12
"""Edges over more rows than this are drawn straight: bends in every row would cost more than they
show.
"""


@dataclass
class Layout:
    """The places of vertices and edges.

    Attributes
    ----------
    x
        Center of each vertex, real ones first.
    row
        Row of each; 0 is that of the outputs.
    paths
        Per edge the vertices that it goes through, ends included.
    """

    x: list[float]
    row: list[int]
    paths: list[list[int]]


def lay_out(widths: Sequence[float], edges: Sequence[tuple[int, int]], gap: float) -> Layout:
    """Return a layout of vertices with `widths` and edges from lower to higher rows.

    Parameters
    ----------
    widths
        Width of each vertex.
    edges
        Pairs of vertices; no cycles.
    gap
        Least space between neighbours in a row.
    """
    row = _rows(len(widths), edges)
    sizes = list(widths)
    paths: list[list[int]] = []
    for begin, end in edges:
        path = [begin]
        if row[end] - row[begin] <= LONGEST_BEND:
            for between in range(row[begin] + 1, row[end]):
                path.append(len(sizes))
                sizes.append(0.0)
                row.append(between)
        paths.append([*path, end])
    rows: list[list[int]] = [[] for _ in range(max(row, default=-1) + 1)]
    for vertex, number in enumerate(row):
        rows[number].append(vertex)
    above: list[list[int]] = [[] for _ in sizes]
    below: list[list[int]] = [[] for _ in sizes]
    for path in paths:
        for lower, upper in itertools.pairwise(path):
            above[lower].append(upper)
            below[upper].append(lower)
    _order(rows, above, below)
    return Layout(_positions(rows, above, below, sizes, gap), row, paths)


def _rows(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the row of each vertex: the longest path that leads to it."""
    following: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for begin, end in edges:
        following[begin].append(end)
        waiting[end] += 1
    row = [0] * count
    ready = [vertex for vertex in range(count) if not waiting[vertex]]
    for vertex in ready:  # which grows meanwhile
        for end in following[vertex]:
            row[end] = max(row[end], row[vertex] + 1)
            waiting[end] -= 1
            if not waiting[end]:
                ready.append(end)
    return row


def _order(rows: list[list[int]], above: list[list[int]], below: list[list[int]]) -> None:
    """Order every row by the mean place of its neighbours, up and down in turn."""
    place = {vertex: float(index) for row in rows for index, vertex in enumerate(row)}
    for sweep in range(SWEEPS):
        up = sweep % 2 == 0
        neighbours = below if up else above
        for row in rows if up else reversed(rows):
            row.sort(
                key=lambda vertex: _mean([place[n] for n in neighbours[vertex]], place[vertex])
            )
            for index, vertex in enumerate(row):
                place[vertex] = index - len(row) / 2


def _positions(
    rows: list[list[int]],
    above: list[list[int]],
    below: list[list[int]],
    sizes: list[float],
    gap: float,
) -> list[float]:
    """Return the center of each vertex: as near to its neighbours as the order of its row and `gap`
    allow.
    """
    x = [0.0] * len(sizes)
    for sweep in range(SWEEPS):
        up = sweep % 2 == 0
        for row in rows if up else reversed(rows):
            first, second = (below, above) if up else (above, below)
            wanted = [
                _mean(
                    [x[n] for n in (first[vertex] if first[vertex] else second[vertex])], x[vertex]
                )
                for vertex in row
            ]
            for vertex, center in zip(
                row, _apart(wanted, [sizes[v] for v in row], gap), strict=True
            ):
                x[vertex] = center
    left = min([x[v] - sizes[v] / 2 for v in range(len(x))], default=0.0)
    return [center - left for center in x]


def _apart(wanted: list[float], sizes: list[float], gap: float) -> list[float]:
    """Return the centers nearest to `wanted`, in least squares, that are in order and do not
    overlap.
    """
    offsets = [0.0]
    for left, right in itertools.pairwise(sizes):
        offsets.append(offsets[-1] + (left + right) / 2 + gap)
    blocks: list[tuple[float, int]] = []  # pooled violators: mean and length
    for want, offset in zip(wanted, offsets, strict=False):
        mean, length = want - offset, 1
        while blocks and blocks[-1][0] > mean:
            before, count = blocks.pop()
            mean = (before * count + mean * length) / (count + length)
            length += count
        blocks.append((mean, length))
    shifts = [mean for mean, length in blocks for _ in range(length)]
    return [shift + offset for shift, offset in zip(shifts, offsets, strict=False)]


def _mean(values: list[float], default: float) -> float:
    return sum(values) / len(values) if values else default
