"""Shows what waits in the loop over arrays as the loop over tensors would have it: nodes that are
ready, nodes that are not, and how many gradients these still get.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from ...graph.node import EdgeTuple, Node
from .array_backend_of_task import ArraySide, as_tensors
from .dependencies import count_gradients
from .ready_queue import InputBuffer, ReadyQueue

ArraysAhead: TypeAlias = (
    "tuple[dict[Node, Any], dict[Node, Any], Node | None, Any, Node | None, Any, "
    "Sequence[EdgeTuple | None], int]"
)
"""The buffers of nodes and of leaves; the next two nodes, each with what came to it; and the edges
of the node that runs or ran last, with the index of the one along which it sent a gradient last.
"""


class Waiting(NamedTuple):
    """What waits: see `GraphTask`."""

    ready_queue: ReadyQueue
    not_ready: dict[Node, InputBuffer]
    dependencies: dict[Node, int]


def as_waiting(side: ArraySide, ahead: ArraysAhead) -> Waiting:
    """Return what waits; its tensors have the arrays of the loop.

    The loop takes a node for ready as soon as it is the one recorded last, without counting. So
    what still comes to a node is counted here, from all that will run before it.
    """
    buffers, leaves, first, arrived, second, waiting, edges, index = ahead
    held: dict[Node, Any] = {**buffers, **leaves}
    for node, grad in ((first, arrived), (second, waiting)):
        if node is not None:
            held[node] = grad
    ahead_of = count_gradients([*edges[index + 1 :], *[(node, 0) for node in held]])
    coming = {node: count + (node not in held) for node, count in ahead_of.items()}
    result = Waiting(
        ReadyQueue(), {}, {node.presented(): count for node, count in coming.items() if count}
    )
    for node, grad in held.items():
        inputs = InputBuffer(as_tensors(node, grad, side.wrap))
        if coming[node]:
            result.not_ready[node] = inputs
        else:
            result.ready_queue.push(node, inputs)
    return result
