"""The ready queue and the input buffers: where nodes and their gradients wait during a run."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count
from typing import Final, NamedTuple

from dovetail_kernel import TensorBase

from ...graph import engine_ops
from ...graph.node import Node


class InputBuffer(list[TensorBase | None]):
    """The accumulated gradients of the outputs of one node: ``InputBuffer([None] * n)`` for a node
    with `n` outputs.
    """

    __slots__ = ()

    def add(self, pos: int, var: TensorBase) -> None:
        """Add the gradient `var` to the accumulated gradient of output `pos`."""
        held = self[pos]
        self[pos] = var if held is None else engine_ops.add(held, var)

    def __repr__(self) -> str:
        return f"InputBuffer({super().__repr__()})"


class NodeTask(NamedTuple):
    """A node that is ready, with the gradients of its outputs."""

    fn: Node
    inputs: InputBuffer


_new: Final = tuple.__new__


class ReadyQueue:
    """Nodes that have all their gradients: leaves first, then the node recorded last.

    Iterating goes through it in that order and changes nothing.

    Attributes
    ----------
    heap
        The entries: what they are ordered by, the node, its gradients.
    """

    __slots__ = ("_number", "heap")

    def __init__(self) -> None:
        self.heap: list[tuple[int, int, Node, InputBuffer]] = []
        self._number = count().__next__

    def push(self, fn: Node, inputs: InputBuffer) -> None:
        """Add the node `fn` with its gradients."""
        heappush(self.heap, (-fn.sequence_nr, self._number(), fn, inputs))

    def pop(self) -> NodeTask:
        """Remove and return the node that runs next.

        Raises
        ------
        IndexError
            If none is ready.
        """
        return _new(NodeTask, heappop(self.heap)[2:])

    def size(self) -> int:
        """Return the number of ready nodes."""
        return len(self.heap)

    def empty(self) -> bool:
        """Return whether the queue is empty."""
        return not self.heap

    __len__ = size

    def __iter__(self) -> Iterator[NodeTask]:
        return iter([NodeTask(fn, inputs) for _, _, fn, inputs in sorted(self.heap)])

    def __repr__(self) -> str:
        return f"ReadyQueue({[task.fn.name() for task in self]})"
