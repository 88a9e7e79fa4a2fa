"""The dependencies of a graph: how many gradients a node waits for, and which nodes lead where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from ..graph.node import Node
from ..recording.fused_nodes import split

if TYPE_CHECKING:
    from ..graph.node import EdgeTuple

PRUNED: Final = 1 << 59
"""The least count of a node that is not to run: however many gradients come, it never becomes
ready.
"""


def count_gradients(roots: Sequence[EdgeTuple | None]) -> dict[Node, int]:
    """Return every node that `roots` lead to, with how many gradients it gets besides the first."""
    counts: dict[Node, int] = {}
    pending: list[Sequence[EdgeTuple | None]] = [roots]
    for edges in pending:  # which grows meanwhile
        for edge in edges:
            if edge is not None:
                node = edge[0]
                if node in counts:
                    counts[node] += 1
                else:
                    counts[node] = 0
                    pending.append(node.next_edges if node._fusion is None else split(node))
    return counts


def leading_to(nodes: set[Node], reached: Iterable[Node]) -> set[Node]:
    """Return those of the nodes `reached` that lead to `nodes`, and `nodes`."""
    sources: dict[Node, list[Node]] = {}
    for node in reached:
        for edge in node.next_edges:
            if edge is not None:
                target = edge[0]
                if target in sources:
                    sources[target].append(node)
                else:
                    sources[target] = [node]
    leading = set(nodes)
    stack = list(nodes)
    while stack:
        for node in sources.get(stack.pop(), ()):
            if node not in leading:
                leading.add(node)
                stack.append(node)
    return leading
