"""Conversion of an autograd graph to vertices and edges, without recursion and without changing the
graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dovetail_aten import Tensor
from dovetail_autograd import AccumulateGrad, Node, get_gradient_edge, saved_values

from ..nn import Module

Parameters = Mapping[str, Tensor] | Iterable[tuple[str, Tensor]]


@dataclass
class Vertex:
    """Something drawn as a box.

    Attributes
    ----------
    kind
        "node", "leaf", "output" or "rest": what was left out for size.
    name
        Name of the node, of the parameter, or of the output.
    lines
        What else to say: shapes and dtypes, then what is saved.
    inputs
        Vertices that its inputs come from, each with the number of their output.
    warning
        Whether something saved was freed or changed in place.
    """

    kind: str
    name: str
    lines: list[str] = field(default_factory=list)
    inputs: list[tuple[int, int]] = field(default_factory=list)
    warning: bool = False


@dataclass
class Graph:
    """The vertices, outputs first; every edge leads from a vertex to one of a higher number, or to
    a leaf.

    Attributes
    ----------
    vertices
        See `Vertex`.
    left_out
        Number of nodes that are not among them.
    """

    vertices: list[Vertex]
    left_out: int = 0


def walk(roots: Iterable[Node | None]) -> list[Node]:
    """Return every node that `roots` lead to, each once, leaves last and else those recorded last
    first; the same order in every process.
    """
    seen: dict[Node, None] = {}
    pending = [node for node in roots if node is not None]
    while pending:
        node = pending.pop()
        if node not in seen:
            seen[node] = None
            pending += [edge.function for edge in node.next_functions if edge.function is not None]
    return sorted(seen, key=lambda node: (node._is_leaf_node, -node._sequence_nr()))


def read_graph(outputs: Sequence[Tensor], params: Parameters | None, limit: int) -> Graph:
    """Return the graph of `outputs`.

    Parameters
    ----------
    outputs
        Tensors that require grad.
    params
        Names of leaves.
    limit
        At most so many nodes, those recorded last.
    """
    names = names_of(params)
    nodes = walk(
        [output.grad_fn if output.grad_fn is not None else _leaf_node(output) for output in outputs]
    )
    kept = nodes[:limit] if len(nodes) > limit else nodes
    graph = Graph([], len(nodes) - len(kept))
    position: dict[Node, int] = {}
    for number, output in enumerate(outputs):
        named = names.get(id(output)) or (f"output {number}" if len(outputs) > 1 else "output")
        graph.vertices.append(Vertex("output", named, [describe(output)]))
    for node in kept:
        position[node] = len(graph.vertices)
        graph.vertices.append(
            _leaf(node, names) if isinstance(node, AccumulateGrad) else _node(node)
        )
    rest = len(graph.vertices)
    if graph.left_out:
        graph.vertices.append(
            Vertex("rest", f"{graph.left_out} more nodes", ["raise limit= to see them"])
        )
    for number, output in enumerate(outputs):
        target = output.grad_fn if output.grad_fn is not None else _leaf_node(output)
        graph.vertices[number].inputs.append((position[target], output.output_nr))
    for node in kept:
        into = graph.vertices[position[node]].inputs
        for edge in node.next_functions:
            if edge.function is not None:
                into.append((position.get(edge.function, rest), edge.input_nr))
    return graph


def names_of(params: Parameters | Any | None) -> dict[int, str]:
    """Return the names of tensors by their id: of a mapping, of pairs, or of the parameters of a
    module.
    """
    if params is None:
        return {}
    if hasattr(params, "named_parameters"):
        params = params.named_parameters()
    pairs = params.items() if isinstance(params, Mapping) else params
    return {id(tensor): name for name, tensor in pairs}


def held_by(variables: Mapping[str, object]) -> dict[str, Tensor]:
    """Return the leaves that variables hold, and those that are parameters of modules they hold, by
    names such as ``x`` and ``model.weight``.
    """
    found: dict[str, Tensor] = {}
    for name, value in variables.items():
        if isinstance(value, Tensor):
            if value.requires_grad and value.is_leaf:
                found[name] = value
        elif isinstance(value, Module):
            for parameter, tensor in value.named_parameters():
                found.setdefault(f"{name}.{parameter}", tensor)
    return found


def describe(tensor: Any) -> str:
    """Return shape and dtype: ``float32[2, 3]``."""
    return f"{tensor.dtype.name}{list(tensor.shape)}"


def _leaf_node(tensor: Tensor) -> Node:
    return get_gradient_edge(tensor).node


def _leaf(node: AccumulateGrad, names: dict[int, str]) -> Vertex:
    leaf = node.variable
    name = names.get(id(leaf)) or getattr(leaf, "name", None) or "leaf"
    return Vertex("leaf", str(name), [describe(leaf)])


def _node(node: Node) -> Vertex:
    vertex = Vertex("node", node.name())
    outputs = [
        "no tensor" if each.dtype is None else f"{each.dtype.name}{list(each.shape)}"
        for each in node._input_metadata
    ]
    vertex.lines += (
        outputs
        if len(outputs) <= _MOST_LINES
        else [*outputs[: _MOST_LINES - 1], f"… {len(outputs)} outputs"]
    )
    saved = list(_saved_lines(node))
    vertex.lines += (
        saved
        if len(saved) <= _MOST_LINES
        else [*saved[: _MOST_LINES - 1], f"… {len(saved)} saved values"]
    )
    vertex.warning = any([line.endswith((" freed", " changed in place")) for line in saved])
    return vertex


_MOST_LINES = 6
_WORDS = {"freed": "freed", "changed": "changed in place", "packed": "packed by hooks"}


def _saved_lines(node: Node) -> Iterator[str]:
    for name, value, state in saved_values(node):
        if value is None and state == "kept":
            continue
        text = (
            describe(value) if isinstance(value, Tensor) else "" if value is None else repr(value)
        )
        yield " ".join(
            part for part in (f"saved {name}:", text[:40], _WORDS.get(state, "")) if part
        )
