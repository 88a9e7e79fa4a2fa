"""Graphs as tables of plain values, which can be pickled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from .graph import Graph
from .node import Node, map_aggregate, map_arg


@dataclass(frozen=True)
class NodeNumber:
    """Stands for the result of a node in the arguments of another."""

    number: int


class GraphTable(NamedTuple):
    """What a graph is made of.

    Attributes
    ----------
    rows
        Of each node the op, target, arguments, keyword arguments, name, annotation, and whether its
        function is kept whole.
    tracer_cls, codegen
        As the graph has them.
    """

    rows: list[tuple[Any, ...]]
    tracer_cls: Any
    codegen: Any


def table_of(graph: Graph) -> GraphTable:
    """Return the table of a graph."""
    places = {node: NodeNumber(number) for number, node in enumerate(graph.nodes)}

    def row(node: Node) -> tuple[Any, ...]:
        args, kwargs = map_arg((node.args, node.kwargs), places.__getitem__)
        whole = bool(node.meta.get("is_wrapped"))
        return node.op, node.target, args, kwargs, node.name, node.type, whole

    return GraphTable([row(node) for node in graph.nodes], graph._tracer_cls, graph._codegen)


def graph_of(table: GraphTable) -> Graph:
    """Return the graph of a table."""
    graph = Graph(tracer_cls=table.tracer_cls)
    graph.set_codegen(table.codegen)
    made: list[Node] = []

    def found(value: object) -> Any:
        return made[value.number] if isinstance(value, NodeNumber) else value

    for op, target, args, kwargs, name, kind, whole in table.rows:
        args_, kwargs_ = map_aggregate((args, kwargs), found)
        made.append(graph.create_node(op, target, args_, kwargs_, name, kind))
        if whole:
            made[-1].meta["is_wrapped"] = True
    return graph


_Place = NodeNumber  # as pickles of 0.1.0 have it
