"""The dependencies of a graph: how many gradients a node waits for, and which nodes lead where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from ...graph.node import EdgeTuple, Node
from ...recording.fused_nodes import split

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


def sources_of(roots: Sequence[EdgeTuple | None]) -> dict[Node, list[Node | None]]:
    """Return every node that `roots` lead to, with the nodes that each of its gradients comes from:
    one less than there are of them is what `count_gradients` returns. Roots come from None.
    """
    sources: dict[Node, list[Node | None]] = {}
    pending: list[tuple[Node | None, Sequence[EdgeTuple | None]]] = [(None, roots)]
    for source, edges in pending:  # which grows meanwhile
        for edge in edges:
            if edge is not None:
                node = edge[0]
                if node in sources:
                    sources[node].append(source)
                else:
                    sources[node] = [source]
                    following = node.next_edges if node._fusion is None else split(node)
                    if following:
                        pending.append((node, following))
    return sources


def leading_to(nodes: Iterable[Node], sources: dict[Node, list[Node | None]]) -> set[Node]:
    """Return the nodes with an edge that leads to one of `nodes`, at once or by way of others."""
    leading: set[Any] = {None}
    pending = list(nodes)
    for node in pending:  # which grows meanwhile
        for source in sources.get(node, ()):
            if source not in leading:
                leading.add(source)
                pending.append(source)  # type: ignore[arg-type]
    leading.discard(None)
    return leading
