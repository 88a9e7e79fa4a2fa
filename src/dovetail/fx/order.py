"""The order of the nodes of a graph: going through them, and where new ones are inserted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from .node import Node


class Nodes:
    """The nodes of a graph, in order; they may change while one iterates.

    Parameters
    ----------
    graph
        Whose nodes.
    backwards
        Begin with the last one.
    """

    def __init__(self, graph: Any, backwards: bool = False) -> None:
        self.graph = graph
        self.backwards = backwards

    def __len__(self) -> int:
        return len(self.graph._members)

    def __iter__(self) -> Iterator[Node]:
        root = self.graph._root
        node = root.prev if self.backwards else root.next
        while node is not root:
            if not node._erased:
                yield node
            node = node.prev if self.backwards else node.next

    def __reversed__(self) -> Nodes:
        return Nodes(self.graph, not self.backwards)


class Inserting:
    """The place where nodes are inserted, from now on or within a context."""

    def __init__(self, graph: Any, insert: Callable[[Node], None]) -> None:
        self.graph = graph
        self.before: Final = graph._insert
        graph._insert = insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, *failure: object) -> None:
        self.graph._insert = self.before


def last_uses(graph: Any) -> dict[Node, list[Node]]:
    """Return for each node those whose results it is the last to take."""
    seen: set[Node] = set()
    last: dict[Node, list[Node]] = {}
    for node in reversed(graph.nodes):
        for each in node.all_input_nodes:
            if each not in seen:
                seen.add(each)
                last.setdefault(node, []).append(each)
    return last
