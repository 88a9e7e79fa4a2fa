"""Drawings of graphs, traces and explanations, for the README and the pages."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from pathlib import Path

import dovetail
from dovetail import nn
from dovetail.utils import draw_graph

from .files import without_root, write_text

__all__ = ["write_drawings"]


def write_drawings(folder: Path) -> None:
    """Write every drawing into `folder`."""
    for name, draw in DRAWINGS.items():
        dovetail.manual_seed(0)
        write_text(folder / f"{name}.svg", draw())


def graph_of_a_loss() -> str:
    """Return the graph of a loss of a perceptron."""
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    loss = nn.functional.mse_loss(model(dovetail.ones(4, 2)), dovetail.zeros(4, 1))
    return draw_graph(loss, params=dict(model.named_parameters())).svg


def graph_of_a_square() -> str:
    """Return the graph of a sum of squares, whose leaf is used twice."""
    x = dovetail.tensor([1.0, 2.0], requires_grad=True)
    return draw_graph((x * x).sum(), params={"x": x}).svg


def graph_of_a_view() -> str:
    """Return the graph of a leaf's copy, one element of which was written."""
    x = dovetail.ones(3, requires_grad=True)
    y = x.clone()
    y[0] = x[1] * 2
    return draw_graph(y.sum(), params={"x": x}).svg


def explanation() -> str:
    """Return the tree of `explain` for a product of matrices."""
    x = dovetail.ones(2, 3, requires_grad=True)
    text = str(dovetail.explain(dovetail.ops.aten.mul.Tensor, x, x))
    lines = [line.rstrip() for line in text.splitlines()]
    end = next(number for number, line in enumerate(lines) if line.startswith("└─ route"))
    return text_as_svg("dovetail.explain(dovetail.ops.aten.mul.Tensor, x, x)", lines[:end])


def trace() -> str:
    """Return the tree of the calls of a linear layer, without times, which are others each time."""
    layer = nn.Linear(3, 2)
    with dovetail.tracing() as calls:
        layer(dovetail.ones(1, 3)).relu().sum()
    text = re.sub(r"  [\d.]+ .?s$", "", calls.as_text(), flags=re.MULTILINE)
    lines = [line for line in text.splitlines() if "called at" not in line]
    return text_as_svg("with dovetail.tracing() as calls: layer(x).relu().sum()", lines)


def text_as_svg(title: str, lines: list[str]) -> str:
    """Return lines of text as a picture that every browser shows alike."""
    shown = [without_root(line) for line in lines]
    width = max(len(line) for line in (title, *shown)) * 7.3 + 30
    height = 17 * len(shown) + 52
    body = "".join(
        f'<text x="15" y="{50 + 17 * row}" xml:space="preserve">{escape(line)}</text>'
        for row, line in enumerate(shown)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
        f'viewBox="0 0 {width:.0f} {height}" role="img"><title>{escape(title)}</title>'
        '<rect width="100%" height="100%" rx="6" fill="#fbfaf7" stroke="#d8d4c8"/>'
        '<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12" fill="#26241f">'
        f'<text x="15" y="25" font-weight="bold" fill="#7a4b1e">{escape(title)}</text>{body}</g>'
        "</svg>\n"
    )


DRAWINGS: dict[str, Callable[[], str]] = {
    "graph_of_a_loss": graph_of_a_loss,
    "graph_of_a_square": graph_of_a_square,
    "graph_of_a_view": graph_of_a_view,
    "explanation": explanation,
    "trace": trace,
}
