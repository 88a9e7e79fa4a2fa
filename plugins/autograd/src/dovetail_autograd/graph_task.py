"""GraphTask: what one run of the engine knows. It begins by counting how many gradients each node waits for."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from dovetail_kernel.tensor_base import TensorBase

if TYPE_CHECKING:
    from dovetail_kernel.backends import Backend

    from .node import EdgeTuple, Node

PRUNED: Final = 1 << 59
"""The least count of a node that is not to run: however many gradients come, it never becomes ready."""


class GraphTask:
    """One run of the engine.

    Attributes
    ----------
    counts
        Every node that the roots lead to, with how many gradients it gets besides the first; `PRUNED` or more for a
        node that is not to run.
    buffers
        The sum so far of the gradients of nodes that wait for more: an array or tensor, or for a node with several
        outputs a list of them.
    keep_graph, create_graph
        Whether saved values survive, and whether the backward is itself recorded.
    uniform
        Whether all nodes live on `backend`, so that gradients may be its plain arrays.
    captures
        Per node (output number, position in `captured`) for the gradients that were asked for; None: none were.
    needed
        The nodes that run, or None for all of them.
    node
        The node that runs now, where somebody could ask.
    callbacks
        Called when the run is over.
    outer
        The run that this one is nested in.
    """

    captures: Mapping[Node, list[tuple[int, int]]] | None = None
    captured: list[TensorBase | None]
    needed: set[Node] | None = None
    node: Node | None = None
    callbacks: tuple[Callable[[], Any], ...] = ()
    depth = 0
    uniform = True
    _id: int | None = None

    def __init__(self, keep_graph: bool, create_graph: bool, backend: Backend | None, outer: GraphTask | None) -> None:
        self.counts: dict[Node, int] = {}
        self.buffers: dict[Node, Any] = {}
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.backend = backend
        self.outer = outer
        self.captured = []

    @property
    def id(self) -> int:
        """A number that no other run has."""
        if self._id is None:
            self._id = _next_id()
        return self._id

    def count(self, roots: Sequence[EdgeTuple]) -> None:
        """Fill `counts` with all that `roots` lead to, and set `uniform`."""
        counts = self.counts
        backend = self.backend
        pending: list[Sequence[EdgeTuple | None]] = [roots]
        for edges in pending:  # which grows meanwhile
            for edge in edges:
                if edge is not None:
                    node = edge[0]
                    if node in counts:
                        counts[node] += 1
                    else:
                        counts[node] = 0
                        if node.backend is not backend and node.backend is not None:
                            self.uniform = False
                        pending.append(node.next_edges)

    def want(self, wanted: Sequence[EdgeTuple], capture: bool) -> None:
        """Prune the run to what leads to `wanted`; call after `count`.

        With `capture` the gradients at `wanted` are kept in `captured`, and one of these nodes runs only if it leads to
        another one that is wanted.
        """
        nodes = {edge[0] for edge in wanted}
        self.needed = needed = self._leading_to(nodes)
        for node in self.counts:
            if node not in needed:
                self.counts[node] = 2 * PRUNED
        if not capture:
            return
        self.captured = [None] * len(wanted)
        captures: dict[Node, list[tuple[int, int]]] = {}
        self.captures = captures
        for position, edge in enumerate(wanted):
            captures.setdefault(edge[0], []).append((edge[1], position))
        self.needed = {
            node
            for node in needed
            if node not in nodes or any([edge is not None and edge[0] in needed for edge in node.next_edges])
        }

    def _leading_to(self, nodes: set[Node]) -> set[Node]:
        sources: dict[Node, list[Node]] = {}
        for node in self.counts:
            for edge in node.next_edges:
                if edge is not None:
                    sources.setdefault(edge[0], []).append(node)
        needed = set(nodes)
        stack = list(nodes)
        while stack:
            for node in sources.get(stack.pop(), ()):
                if node not in needed:
                    needed.add(node)
                    stack.append(node)
        return needed

    def runs(self, node: Node) -> bool:
        """Return whether `node` runs, rather than being captured only or passed over."""
        return node in self.counts and (self.needed is None or node in self.needed)

    def gets_gradient(self, node: Node) -> bool:
        """Return whether a gradient arrives at `node`, so that its tensor hooks are called."""
        return self.runs(node) or (self.captures is not None and node in self.captures and node in self.counts)


_next_id: Callable[[], int] = itertools.count().__next__

current_task: ContextVar[GraphTask | None] = ContextVar("dovetail_graph_task", default=None)
"""The run that is under way in this task."""
