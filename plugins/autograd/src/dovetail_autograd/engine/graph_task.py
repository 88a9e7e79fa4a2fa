"""GraphTask: what one run of the engine knows; the run under way; and how many gradients each node
of a graph waits for.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container, Iterable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from dovetail_kernel.keys.state import set_state, state
from dovetail_kernel.tensor.tensor_base import TensorBase
from dovetail_kernel.types.signature import NO_GRAD

from ..graph.node import Node
from ..recording.fused_nodes import split

if TYPE_CHECKING:
    from ..graph.node import EdgeTuple
    from .array_side import ArraySide

PRUNED: Final = 1 << 59
"""The least count of a node that is not to run: however many gradients come, it never becomes
ready.
"""


class GraphTask:
    """One run of the engine.

    Attributes
    ----------
    roots
        Where it begins.
    side
        The array side of the backend that the first gradient is on.
    counts
        Every node that is still ahead, with how many gradients it gets besides the first; `PRUNED`
        or more for a node that is not to run. None where the run does without, since to count
        takes a walk through the whole graph.
    keep_graph, create_graph
        Whether saved values survive, and whether the backward is itself recorded.
    captures
        Per node (output number, position in `captured`) for the gradients that were asked for;
        None: none were.
    kept
        The nodes that lead to what is wanted, or None for all of them.
    needed
        Those of them that run, rather than being captured only.
    node
        The node that runs now, while its code may ask for it.
    callbacks
        Called when the run is over.
    outer
        The run that this one is nested in.
    error_state
        The error state of the array library that the user chose, while gradients are arrays.
    """

    counts: dict[Node, int] | None = None
    captures: dict[Node, list[tuple[int, int]]] | None = None
    captured: list[TensorBase | None]
    kept: set[Node] | None = None
    needed: set[Node] | None = None
    node: Node | None = None
    callbacks: tuple[Callable[[], Any], ...] = ()
    depth = 0
    error_state: Any = None
    _id: int | None = None
    _reached: Container[Node] | None = None

    def __init__(
        self,
        roots: Sequence[EdgeTuple],
        side: ArraySide,
        keep_graph: bool,
        create_graph: bool,
        outer: GraphTask | None,
    ) -> None:
        self.roots = roots
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.side = side
        self.outer = outer
        self.captured = []

    @property
    def id(self) -> int:
        """A number that no other run has."""
        if self._id is None:
            self._id = _next_id()
        return self._id

    def count(self, edges: Sequence[EdgeTuple | None]) -> dict[Node, int]:
        """Fill `counts` with all that `edges` lead to, and return it."""
        self.counts = counts = count_gradients(edges)
        kept = self.kept
        if kept is not None:
            for node in counts:
                if node not in kept:
                    counts[node] = 2 * PRUNED
        return counts

    def want(self, wanted: Sequence[EdgeTuple], capture: bool) -> None:
        """Prune the run to what leads to `wanted`.

        With `capture` the gradients at `wanted` are kept in `captured`, and one of these nodes runs
        only if it leads to another one that is wanted.
        """
        nodes = {edge[0] for edge in wanted}
        self._reached = reached = count_gradients(self.roots)
        self.kept = self.needed = kept = _leading_to(nodes, reached)
        if not capture:
            return
        self.captured = [None] * len(wanted)
        captures: dict[Node, list[tuple[int, int]]] = {}
        self.captures = captures
        for position, edge in enumerate(wanted):
            captures.setdefault(edge[0], []).append((edge[1], position))
        self.needed = {
            node
            for node in kept
            if node not in nodes
            or any([edge is not None and edge[0] in kept for edge in node.next_edges])
        }

    def reaches(self, node: Node) -> bool:
        """Return whether the roots lead to `node`."""
        if self._reached is None:
            self._reached = count_gradients(self.roots)
        return node in self._reached

    def runs(self, node: Node) -> bool:
        """Return whether `node` runs, rather than being captured only or passed over."""
        return (self.needed is None or node in self.needed) and self.reaches(node)

    def gets_gradient(self, node: Node) -> bool:
        """Return whether a gradient arrives at `node`, so that its tensor hooks are called."""
        return self.runs(node) or (
            self.captures is not None and node in self.captures and self.reaches(node)
        )


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


def _leading_to(nodes: set[Node], reached: Iterable[Node]) -> set[Node]:
    """Return those of the nodes `reached` that lead to `nodes`, and `nodes`."""
    sources: dict[Node, list[Node]] = {}
    for node in reached:
        for edge in node.next_edges:
            if edge is not None:
                sources.setdefault(edge[0], []).append(node)
    leading = set(nodes)
    stack = list(nodes)
    while stack:
        for node in sources.get(stack.pop(), ()):
            if node not in leading:
                leading.add(node)
                stack.append(node)
    return leading


_next_id: Callable[[], int] = itertools.count().__next__

current_task: ContextVar[GraphTask | None] = ContextVar("dovetail_graph_task", default=None)
"""The run that is under way in this task."""


def call_in_task(task: GraphTask, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call what may lead to code of the user, which can ask about `task`, in the grad mode of the
    run.
    """
    before = state()
    try:
        set_state(before & ~NO_GRAD if task.create_graph else before | NO_GRAD)
        current_task.set(task)
        return function(*arguments)
    finally:
        try:
            current_task.set(task.outer)
        finally:
            set_state(before)


def call_back(task: GraphTask) -> None:
    """Call the callbacks of `task`, which may queue further ones."""
    done = 0
    while done < len(task.callbacks):
        task.callbacks[done]()
        done += 1


class GraphRoot(Node):
    """Stands for the caller of the engine where a message names the node that a gradient came
    from.
    """

    __slots__ = ()

    def name(self) -> str:
        """Return the name of the node."""
        return "GraphRoot"


GRAPH_ROOT: Final = GraphRoot()
