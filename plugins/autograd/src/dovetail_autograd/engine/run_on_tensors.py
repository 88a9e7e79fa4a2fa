"""The engine's loop over tensors: where a backward is itself recorded, traced, or seen by modes, or
gradients are no plain arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

from dovetail_kernel.keys.state import dispatch_state, state
from dovetail_kernel.tensor.tensor_base import TensorBase
from dovetail_kernel.types.signature import NO_GRAD

from ..graph import engine_ops
from ..graph.node import EdgeTuple, Node
from .conform import conform_tensor
from .evaluate import evaluate, is_watched, run_leaf
from .graph_task import PRUNED, GraphTask, call_back, call_in_task


def run_on_tensors(
    task: GraphTask,
    node: Node,
    edges: Sequence[EdgeTuple | None],
    grads: Sequence[TensorBase | None],
) -> None:
    """Run what `edges` lead to, as if `node` had just returned `grads` for them."""
    call_in_task(task, loop_over_tensors, task, node, edges, grads)
    if task.callbacks:
        call_in_task(task, call_back, task)


def loop_over_tensors(
    task: GraphTask,
    node: Node,
    edges: Sequence[EdgeTuple | None],
    grads: Sequence[TensorBase | None],
) -> None:
    """Bring `grads` to where `edges` lead, run the node that is next, and so on.

    Every gradient is counted: a node is put into the ready queue when the last one is in its input
    buffer, and a leaf gets its gradient at that moment.
    """
    run_node, reach_leaf = evaluate, run_leaf
    if state() & ~NO_GRAD and dispatch_state().traced:
        from .traced import traced_evaluate as run_node
        from .traced import traced_run_leaf as reach_leaf
    counts = task.count(edges)
    buffers: dict[Node, Any] = {}
    ready: list[tuple[int, Node]] = []
    while True:
        for index, (edge, grad) in enumerate(zip(edges, grads, strict=False)):
            if edge is None:
                continue
            target: Any = edge[0]
            left = counts[target]
            counts[target] = left - 1
            if left >= PRUNED:
                continue
            if grad is not None:
                _gather(node, index, target, edge[1], grad, buffers)
            if left:
                continue
            if not target._is_leaf_node:
                heappush(ready, (-target.sequence_nr, target))
            elif target in buffers:
                reach_leaf(task, target, buffers.pop(target))
            elif is_watched(target):
                reach_leaf(task, target, None)
        if not ready:
            return
        node = heappop(ready)[1]
        edges = node.next_edges
        gathered = buffers.pop(node, None)
        if type(gathered) is not list:
            gathered = [None] * node._num_outputs if gathered is None else [gathered]
        grads = run_node(task, node, gathered)


def _gather(
    node: Node, index: int, target: Node, output_nr: int, grad: TensorBase, buffers: dict[Node, Any]
) -> None:
    """Add `grad`, the gradient `index` that `node` returned, to what waits at output `output_nr` of
    `target`.
    """
    metadata = target.input_metadata
    if isinstance(metadata, list):
        gathered = buffers.setdefault(target, [None] * len(metadata))
        shape, dtype = metadata[output_nr]
        grad = conform_tensor(node, index, grad, shape, dtype, target._array_backend)
        held = gathered[output_nr]
        gathered[output_nr] = grad if held is None else engine_ops.add(held, grad)
    else:
        grad = conform_tensor(node, index, grad, *metadata, target._array_backend)
        held = buffers.get(target)
        buffers[target] = grad if held is None else engine_ops.add(held, grad)
