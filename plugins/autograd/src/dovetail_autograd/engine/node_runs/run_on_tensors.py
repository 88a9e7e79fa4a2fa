"""The engine's loop over tensors: where a backward is itself recorded, traced, or seen by modes, or
gradients are not plain arrays.

Every gradient is counted: a node is put into the ready queue when the last one is in its input
buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop
from typing import Any

from dovetail_kernel import TensorBase, backend_of_signature, state
from dovetail_kernel.keys import known_state
from dovetail_kernel.signature import NO_GRAD

from ...graph.node import EdgeTuple, Node
from ..tasks.dependencies import PRUNED
from ..tasks.graph_task import GraphTask, call_back, call_in_task
from ..tasks.ready_queue import InputBuffer, ReadyQueue
from .evaluate import evaluate, is_watched, run_leaf
from .own_gradients import own_tensors
from .validate_gradient import conform_tensor


def run_on_tensors(
    task: GraphTask,
    node: Node,
    edges: Sequence[EdgeTuple | None],
    grads: Sequence[TensorBase | None],
) -> None:
    """Run what `edges` lead to, as if `node` had just returned `grads` for them."""
    call_in_task(task, loop_over_tensors, task, node, edges, grads)
    if task.final_callbacks:
        call_in_task(task, call_back, task)


def loop_over_tensors(
    task: GraphTask,
    node: Node,
    edges: Sequence[EdgeTuple | None],
    grads: Sequence[TensorBase | None],
) -> None:
    """Bring `grads` to where `edges` lead, run the node that is next, and so on."""
    task.count(edges)
    ready_queue = task.ready_queue
    _deliver(task, node, edges, grads, ready_queue)
    thread_main(task, ready_queue)


def thread_main(task: GraphTask, ready_queue: ReadyQueue) -> None:
    """Run the nodes that are ready, and those that become ready, until none is left."""
    heap = ready_queue.heap
    while heap:
        _, _, fn, inputs = heappop(heap)
        evaluate_function(task, fn, inputs, ready_queue)


def evaluate_function(
    task: GraphTask, fn: Node, inputs: InputBuffer, ready_queue: ReadyQueue
) -> None:
    """Run the node `fn` on `inputs`, and bring what it returns to where its edges lead."""
    run_node, reach_leaf = evaluate, run_leaf
    if known_state(state() & ~NO_GRAD).traced:
        from .traced import traced_evaluate as run_node
        from .traced import traced_run_leaf as reach_leaf
    if fn._is_leaf_node:
        leaf: Any = fn
        if fn._node_hooks is not None:
            own_tensors(inputs)
        reach_leaf(task, leaf, inputs)
    else:
        if not fn._is_formula_node or fn._node_hooks is not None:
            own_tensors(inputs)
        edges = fn.next_edges
        _deliver(task, fn, edges, run_node(task, fn, inputs), ready_queue)


def _deliver(
    task: GraphTask,
    node: Node,
    edges: Sequence[EdgeTuple | None],
    grads: Sequence[TensorBase | None],
    ready_queue: ReadyQueue,
) -> None:
    """Bring `grads`, which `node` returned, to the input buffers of the nodes that `edges` lead to;
    put those that are ready then into the queue.
    """
    counts: Any = task.counts
    buffers = task.buffers
    for index, edge in enumerate(edges):
        if edge is None:
            continue
        target: Any = edge[0]
        left = counts[target]
        counts[target] = left - 1
        if left >= PRUNED:
            continue
        grad = grads[index]
        inputs = held = buffers.get(target) if buffers else None
        if grad is not None:
            metadata: Any = target.input_metadata
            is_one = metadata.__class__ is not list
            shape, native = metadata if is_one else metadata[edge[1]]
            array = grad.array
            backend = target._array_backend
            if (
                array.shape != shape
                or array.dtype is not native
                or (backend is not None and backend_of_signature(grad._signature) is not backend)
            ):
                grad = conform_tensor(node, index, grad, shape, native, backend)
            if inputs is not None:
                inputs.add(edge[1], grad)
            elif is_one:
                inputs = InputBuffer((grad,))
            else:
                inputs = InputBuffer((None,) * len(metadata))
                inputs[edge[1]] = grad
        if left:
            if inputs is not None and held is None:
                buffers[target] = inputs
            continue
        if held is not None:
            del buffers[target]
        if inputs is None:
            if target._is_leaf_node and not is_watched(target):
                continue
            inputs = InputBuffer((None,) * target._num_outputs)
        ready_queue.push(target, inputs)
