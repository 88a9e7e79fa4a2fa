"""GraphTask: what one run of the engine knows; and the run under way."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

from dovetail_kernel import TensorBase, set_state, state
from dovetail_kernel.signature import NO_GRAD

from ...graph.node import EdgeTuple, Node
from ...graph.saved_extras import change_extras, recording_extras
from .array_backend_of_task import ArraySide
from .dependencies import PRUNED, count_gradients, leading_to, sources_of
from .pending_arrays import ArraysAhead, as_waiting
from .ready_queue import InputBuffer, ReadyQueue


class ExecInfo(NamedTuple):
    """What a run that does not go through the whole graph does with a node.

    Attributes
    ----------
    needed
        Whether it runs.
    captures
        Per gradient of it that was asked for the number of the output, and the position in
        `GraphTask.captured_vars`.
    """

    needed: bool
    captures: tuple[tuple[int, int], ...]


class GraphTask:
    """One run of the engine.

    What waits is seen best from a hook: ``task.ready_queue``, ``task.not_ready`` and
    ``task.dependencies`` are what the loop over tensors uses; while the loop over arrays runs, they
    are made of its arrays when they are asked for.

    Parameters
    ----------
    keep_graph, create_graph
        Whether saved values survive, and whether the backward is itself recorded. Default: False.
    roots
        The edges where it begins. Default: none; `Engine.compute_dependencies` sets them.
    side
        The array side of the backend that the first gradient is on.
    outer
        The run that this one is nested in.

    Attributes
    ----------
    counts
        Every node that is still ahead, with how many gradients it gets besides the first; `PRUNED`
        or more for a node that is not to run. None where the run does without, since to count
        takes a walk through the whole graph.
    queue, buffers
        Where nodes and their gradients wait in the loop over tensors.
    arrays
        What waits in the loop over arrays, while it is interrupted.
    captures
        Per node (output number, position in `captured_vars`) for the gradients that were asked for;
        None: none were.
    captured_vars
        These gradients.
    kept
        The nodes that lead to what is wanted, or None for all of them.
    prunes
        Whether the roots lead to others as well.
    needed
        Those of them that run, rather than being captured only.
    node
        The node that runs now, while its code may ask for it.
    final_callbacks
        Called when the run is over.
    reentrant_depth
        How many runs this one is nested in.
    error_state
        The error state of the array library that the user chose, while gradients are arrays.
    """

    counts: dict[Node, int] | None = None
    captures: dict[Node, list[tuple[int, int]]] | None = None
    captured_vars: list[TensorBase | None]
    kept: set[Node] | None = None
    prunes = False
    needed: set[Node] | None = None
    node: Node | None = None
    final_callbacks: tuple[Callable[[], Any], ...] = ()
    reentrant_depth = 0
    error_state: Any = None
    queue: ReadyQueue | None = None
    buffers: dict[Node, InputBuffer]
    arrays: ArraysAhead | None = None
    _id: int | None = None
    _sources: dict[Node, list[Node | None]] | None = None

    def __init__(
        self,
        keep_graph: bool = False,
        create_graph: bool = False,
        roots: Sequence[EdgeTuple] = (),
        side: ArraySide | None = None,
        outer: GraphTask | None = None,
    ) -> None:
        self.roots = roots
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.side: Any = side
        self.outer = outer
        self.captured_vars = []

    @property
    def id(self) -> int:
        """A unique number of the run."""
        if self._id is None:
            self._id = _next_id()
        return self._id

    # -- what waits --------------------------------------------------------------------------------

    @property
    def ready_queue(self) -> ReadyQueue:
        """The nodes that are ready, with their gradients."""
        if self.arrays is not None:
            return as_waiting(self.side, self.arrays).ready_queue
        if self.queue is None:
            self.queue = ReadyQueue()
            self.buffers = {}
        return self.queue

    @property
    def not_ready(self) -> dict[Node, InputBuffer]:
        """The accumulated gradients of nodes that wait for more gradients."""
        if self.arrays is not None:
            return as_waiting(self.side, self.arrays).not_ready
        return {} if self.queue is None else self.buffers

    @property
    def dependencies(self) -> dict[Node, int]:
        """The number of missing gradients of each waiting node."""
        if self.arrays is not None:
            return as_waiting(self.side, self.arrays).dependencies
        counts = self.counts
        if counts is None:
            counts = count_gradients(self.roots if self.node is None else self.node.next_edges)
        left = {node: (count + 1) & (PRUNED - 1) for node, count in counts.items()}
        return {node.presented(): count for node, count in left.items() if count}

    @property
    def exec_info(self) -> dict[Node, ExecInfo]:
        """For a run with requested gradients, the tasks of the nodes on the way to them; empty for
        a run through the whole graph.
        """
        if self.kept is None or self.needed is None:
            return {}
        captures = self.captures or {}
        return {
            node.presented(): ExecInfo(node in self.needed, tuple(captures.get(node, ())))
            for node in self.kept
        }

    @property
    def nodes_in_graph(self) -> set[Node]:
        """All nodes reachable from the roots."""
        return {node.presented() for node in count_gradients(self.roots)}

    # -- what runs ---------------------------------------------------------------------------------

    def count(self, edges: Sequence[EdgeTuple | None]) -> dict[Node, int]:
        """Count, in `counts`, the nodes that `edges` lead to, and return it."""
        sources = self._sources
        if sources is None or edges is not self.roots:
            counts = count_gradients(edges)
        else:
            counts = {node: len(found) - 1 for node, found in sources.items()}
        self.counts = counts
        kept = self.kept
        if kept is not None and self.prunes:
            for node in counts:
                if node not in kept:
                    counts[node] += 2 * PRUNED
        return counts

    def init_to_execute(self, outputs: Sequence[EdgeTuple], accumulate_grad: bool) -> None:
        """Prune the run to what leads to `outputs`.

        Without `accumulate_grad` the gradients there are kept in `captured_vars`, and one of these
        nodes runs only if it leads to another one that is wanted.
        """
        nodes = {edge[0] for edge in outputs}
        self._sources = sources = sources_of(self.roots)
        needed = leading_to(nodes, sources)
        self.kept = self.needed = needed | nodes
        self.prunes = not self.kept.issuperset(sources)
        if accumulate_grad:
            return
        self.needed = needed
        self.captured_vars = [None] * len(outputs)
        captures: dict[Node, list[tuple[int, int]]] = {}
        self.captures = captures
        for position, edge in enumerate(outputs):
            captures.setdefault(edge[0], []).append((edge[1], position))

    def reaches(self, node: Node) -> bool:
        """Return whether the roots lead to `node`."""
        if self._sources is None:
            self._sources = sources_of(self.roots)
        return node in self._sources

    def runs(self, node: Node) -> bool:
        """Return whether `node` runs, instead of being only captured or skipped."""
        return (self.needed is None or node in self.needed) and self.reaches(node)

    def capture(self, node: Node, array: object) -> bool:
        """Keep the gradient of a node that is captured and nothing else, on the backend of the run;
        return whether it is.
        """
        captures = self.captures and self.captures.get(node)
        if (
            not captures
            or self.needed is None
            or node in self.needed
            or node._node_hooks is not None
            or node._array_backend is not self.side.backend
        ):
            return False
        gradient = self.side.wrap(array, None)
        for _, position in captures:
            self.captured_vars[position] = gradient
        return True

    def gets_gradient(self, node: Node) -> bool:
        """Return whether a gradient arrives at `node`, so that its tensor hooks are called."""
        return self.runs(node) or (
            self.captures is not None and node in self.captures and self.reaches(node)
        )

    def __repr__(self) -> str:
        return (
            f"<GraphTask {self.id}: {len(self.ready_queue)} nodes ready, "
            f"{len(self.not_ready)} not ready>"
        )


_next_id: Callable[[], int] = itertools.count().__next__

current_task: ContextVar[GraphTask | None] = ContextVar("dovetail_graph_task", default=None)
"""The run that is under way in this task."""


def call_in_task(task: GraphTask, function: Callable[..., object], *arguments: Any) -> Any:
    """Call what may lead to code of the user, which can ask about `task`, in the grad mode of the
    run. Hooks for saved tensors that this code enables or removes are as before afterwards.
    """
    before, extras = state(), recording_extras()
    try:
        set_state(before & ~NO_GRAD if task.create_graph else before | NO_GRAD)
        current_task.set(task)
        return function(*arguments)
    finally:
        try:
            current_task.set(task.outer)
        finally:
            set_state(before)
            if recording_extras() is not extras:
                change_extras(hooks=() if extras is None else extras.hooks)


def call_back(task: GraphTask) -> None:
    """Call the callbacks of `task`, which may queue further ones."""
    done = 0
    while done < len(task.final_callbacks):
        task.final_callbacks[done]()
        done += 1
