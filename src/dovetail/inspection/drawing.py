"""`draw_graph`: the autograd graph of a tensor, as SVG and as text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dovetail_aten import Tensor

from .._files import write_text
from .graph_reading import Graph, Parameters, Vertex, held_by, read_graph


class GraphDrawing:
    """A drawing of a graph. ``str`` returns a tree for the terminal; notebooks show the SVG.

    Attributes
    ----------
    graph
        Its vertices and edges.
    """

    def __init__(self, graph: Graph, title: str) -> None:
        self.graph = graph
        self._title = title

    @property
    def svg(self) -> str:
        """The drawing as one standalone SVG document."""
        from .graph_svg import svg_of

        return svg_of(self.graph, self._title)

    def save(self, path: str | Path) -> None:
        """Write the SVG to a file.

        Parameters
        ----------
        path
            The file, which is replaced when the drawing is complete.
        """
        write_text(path, self.svg)

    def _repr_svg_(self) -> str:
        return self.svg.partition("\n")[2]

    def __str__(self) -> str:
        return "\n".join(map(_cut, _tree(self.graph)))

    def __repr__(self) -> str:
        return f"<drawing of {len(self.graph.vertices)} vertices>"


def draw_graph(
    tensor: Tensor | Sequence[Tensor], params: Parameters | Any | None = None, *, limit: int = 500
) -> GraphDrawing:
    """Draw the autograd graph of a tensor: names, shapes, dtypes, saved values, names of leaves,
    and the `input_nr` of each edge (the index of the node's output).

    Nothing runs and nothing is freed: saved-tensor hooks are not called, and backward can run
    afterwards.

    Parameters
    ----------
    tensor
        The root of the graph, such as a loss; or several tensors.
    params
        Names for leaves: a module, ``module.named_parameters()``, or a dict from names to tensors.
        Default: names of the caller's variables that refer to the tensors or their modules;
        otherwise "leaf".
    limit
        Maximum number of nodes to draw, beginning with the last recorded; one box counts the
        others. Default: 500.

    Returns
    -------
    GraphDrawing
        ``print(drawing)`` shows a tree, ``drawing.save("graph.svg")`` writes a file, a notebook
        shows the picture.

    Raises
    ------
    RuntimeError
        If a tensor does not require grad: it has no graph.
    """
    if params is None:
        caller = sys._getframe(1)
        params = held_by({**caller.f_globals, **caller.f_locals})
    outputs = (tensor,) if isinstance(tensor, Tensor) else tuple(tensor)
    if not outputs:
        raise RuntimeError("draw_graph() needs at least one tensor, but was given none.")
    for number, output in enumerate(outputs):
        if not output.requires_grad:
            raise RuntimeError(
                f"draw_graph(): tensor {number} does not require grad and has no graph. Compute "
                "it, in grad mode, from "
                "a tensor that requires grad; dovetail.utils.explain_grad(tensor) says more."
            )
    made_by = outputs[0].grad_fn
    return GraphDrawing(
        read_graph(outputs, params, limit), f"graph of {made_by.name() if made_by else 'a leaf'}"
    )


def _tree(graph: Graph) -> list[str]:
    """Return a line for every vertex, inputs under what is made of them; what was shown already is
    only named.
    """
    lines: list[str] = []
    shown: dict[int, int] = {}
    roots = [number for number, vertex in enumerate(graph.vertices) if vertex.kind == "output"]
    pending = [(number, "", "", "") for number in reversed(roots)]
    while pending:
        number, indent, branch, further = pending.pop()
        vertex = graph.vertices[number]
        if number in shown:
            lines.append(f"{indent}{branch}{vertex.name} (see #{shown[number]})")
            continue
        shown[number] = len(shown) + 1
        lines.append(f"{indent}{branch}{_line(vertex, shown[number])}")
        inputs = vertex.inputs
        for position, (child, input_nr) in reversed(list(enumerate(inputs))):
            edge = f"[{input_nr}] "
            if (
                len(inputs) == 1
            ):  # a chain goes straight down: long graphs must not run out of the page
                pending.append((child, indent + further, edge, ""))
            else:
                last = position == len(inputs) - 1
                branch = "└─ " if last else "├─ "
                pending.append((child, indent + further, branch + edge, "   " if last else "│  "))
    return lines


def _line(vertex: Vertex, number: int) -> str:
    return f"#{number} {vertex.name}  {', '.join(vertex.lines)}".rstrip()


def _cut(line: str) -> str:
    return line if len(line) <= _COLUMNS else line[: _COLUMNS - 1] + "…"


_COLUMNS = 100
