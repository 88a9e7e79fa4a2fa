"""A graph as a standalone SVG file without scripts or external fonts and styles."""

from __future__ import annotations

import itertools
from html import escape

from .graph_layout import Layout, lay_out
from .graph_reading import Graph, Vertex

_CHARACTER, _LINE, _PADDING = 6.65, 15, 9
_GAP, _ROW_GAP, _MARGIN = 26, 44, 20
_LONGEST = 46

_COLOURS = {
    "node": ("#f6f6f4", "#8a8a84"),
    "leaf": ("#dcebfa", "#3a78b5"),
    "output": ("#dff2df", "#3c8a3c"),
    "rest": ("#ffffff", "#8a8a84"),
}
_WARNING = "#b3261e"

_STYLE = (
    "text{font-family:ui-monospace,'DejaVu Sans "
    "Mono',Menlo,Consolas,monospace;font-size:11px;fill:#222}"
    ".name{font-weight:bold}.warning{fill:#b3261e}.saved,.number{fill:#666}.edge{fill:none;stroke:#77776f;stroke-width:1.2}"
)


def svg_of(graph: Graph, title: str) -> str:
    """Return `graph` as an SVG document: inputs at the top, outputs at the bottom, arrows the way
    of the forward run.

    Parameters
    ----------
    graph
        What to draw.
    title
        Name of the drawing.
    """
    vertices = graph.vertices
    edges = [(begin, end) for begin, vertex in enumerate(vertices) for end, _ in vertex.inputs]
    numbers = [number for vertex in vertices for _, number in vertex.inputs]
    layout = lay_out([_width(vertex) for vertex in vertices], edges, _GAP)
    tops, height = _tops(vertices, layout)
    real = range(len(vertices))
    rightmost = max([layout.x[v] + _width(vertices[v]) / 2 for v in real] + layout.x, default=0.0)
    width = rightmost + 2 * _MARGIN
    parts = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 '
        f'{width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label="{escape(title)}">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" '
        'markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#77776f"/></marker></defs>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>',
    ]
    for path, number in zip(layout.paths, numbers, strict=True):
        parts.append(_edge(path, number, vertices, layout, tops))
    parts += [_box(vertex, layout.x[v] + _MARGIN, *tops[v]) for v, vertex in enumerate(vertices)]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _lines(vertex: Vertex) -> list[str]:
    return [
        line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
        for line in (vertex.name, *vertex.lines)
    ]


def _width(vertex: Vertex) -> float:
    return max(map(len, _lines(vertex))) * _CHARACTER + 2 * _PADDING


def _height(vertex: Vertex) -> float:
    return len(_lines(vertex)) * _LINE + 2 * _PADDING - 4


def _tops(vertices: list[Vertex], layout: Layout) -> tuple[dict[int, tuple[float, float]], float]:
    """Return top and height of every vertex, bends included, and the height of the whole."""
    heights = [0.0] * (max(layout.row, default=0) + 1)
    for v, vertex in enumerate(vertices):
        heights[layout.row[v]] = max(heights[layout.row[v]], _height(vertex))
    middles = [0.0] * len(heights)
    y = float(_MARGIN)
    for row in reversed(range(len(heights))):
        middles[row] = y + heights[row] / 2
        y += heights[row] + _ROW_GAP
    tops = {}
    for v, row in enumerate(layout.row):
        tall = _height(vertices[v]) if v < len(vertices) else heights[row]
        tops[v] = (middles[row] - tall / 2, tall)
    return tops, y - _ROW_GAP + _MARGIN


def _edge(
    path: list[int],
    number: int,
    vertices: list[Vertex],
    layout: Layout,
    tops: dict[int, tuple[float, float]],
) -> str:
    """Return the arrow of an edge: from the bottom of its input, at the end of `path`, to the top
    of its reader.
    """
    points: list[tuple[float, float]] = []
    for v in reversed(path):
        x = layout.x[v] + _MARGIN
        top, tall = tops[v]
        if v == path[-1]:
            points.append((x, top + tall))
        elif v == path[0]:
            points.append((x, top))
        else:
            points += [(x, top), (x, top + tall)]
    text = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if x0 == x1:
            text += f"V{y1:.1f}"
        else:
            middle = (y0 + y1) / 2
            text += f"C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}"
    drawn = f'<path class="edge" d="{text}" marker-end="url(#arrow)"/>'
    x, y = points[0]
    said = f"<title>input_nr {number}</title>{number}"
    return drawn + f'<text class="number" x="{x + 4:.1f}" y="{y + 12:.1f}">{said}</text>'


def _box(vertex: Vertex, x: float, top: float, tall: float) -> str:
    wide = _width(vertex)
    fill, stroke = _COLOURS[vertex.kind]
    dashed = ' stroke-dasharray="4 3"' if vertex.kind == "rest" else ""
    described = "\n".join([vertex.name, *vertex.lines])
    text = [
        f'<g class="{vertex.kind}"><title>{escape(described)}</title>',
        f'<rect x="{x - wide / 2:.1f}" y="{top:.1f}" '
        f'width="{wide:.1f}" height="{tall:.1f}" rx="5" '
        f'fill="{fill}" '
        f'stroke="{_WARNING if vertex.warning else stroke}"{dashed}/>',
    ]
    for index, line in enumerate(_lines(vertex)):
        kind = "name" if index == 0 else "saved" if line.startswith(("saved ", "…")) else ""
        if line.endswith((" freed", " changed in place")):
            kind = "warning"
        y = top + _PADDING + (index + 1) * _LINE - 6
        text.append(
            f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" '
            f'text-anchor="middle">{escape(line)}</text>'
        )
    return "".join([*text, "</g>"])
