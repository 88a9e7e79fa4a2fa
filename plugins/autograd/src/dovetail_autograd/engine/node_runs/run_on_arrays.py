"""The engine's loop over plain arrays: the way of nearly every backward.

A node that needs tensors gets them made for it, and its results unwrapped. Gradients of leaves are
counted only where it matters when one is complete: a first gradient of a leaf is completed at the
end, and to one that is there already each is added as it comes. Gradients that meet at a node are
added in the order in which the nodes ran.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Any, cast

from dovetail_dispatcher import NoArrayKernelError, kernel_namespace
from dovetail_dispatcher.table import KernelNamespace
from dovetail_kernel import TensorBase

from ...graph.accumulate import AccumulateGrad, run_post_accumulate_hooks, watch
from ...graph.node import EdgeTuple, Metadata, Node
from ...recording.fused_nodes import split
from ...sockets import COMPILED_LOOP
from ..tasks.array_backend_of_task import ArraySide, as_arrays, as_tensors
from ..tasks.graph_root import GRAPH_ROOT
from ..tasks.graph_task import GraphTask, call_back, call_in_task
from .evaluate import is_watched, run_leaf, run_node
from .own_gradients import own, own_arrays
from .run_on_tensors import loop_over_tensors
from .validate_gradient import conform_array, conform_tensor


def run_on_arrays(
    task: GraphTask, node: Node, edges: Sequence[EdgeTuple | None], grads: Sequence[object]
) -> None:
    """Run what `edges` lead to, as if `node` had just returned the arrays `grads` for them; a list
    of them is emptied.

    Overflow, division by zero and NaN are results here, and no reason to warn.
    """
    side = task.side
    compiled = COMPILED_LOOP.plug
    loop: Callable[..., None] = _loop_over_arrays
    if compiled is not None and not watch.leaves and side.array_type is compiled.array_type:
        loop = compiled.run
    error_state = side.error_state
    if error_state is None:
        loop(task, node, edges, grads)
    else:
        current, set_error_state, _, quiet = error_state
        before = task.error_state = current()
        try:
            set_error_state(quiet)
            loop(task, node, edges, grads)
        finally:
            set_error_state(before)
    if task.final_callbacks:
        call_in_task(task, call_back, task)


def _call_from_arrays(task: GraphTask, function: Callable[..., object], *arguments: Any) -> Any:
    """Interrupt the run over arrays for what may lead to code of the user, in the error state that
    the user chose.
    """
    error_state = task.side.error_state
    if error_state is None:
        try:
            return call_in_task(task, function, *arguments)
        finally:
            task.arrays = None
    _, set_error_state, _, quiet = error_state
    try:
        set_error_state(task.error_state)
        return call_in_task(task, function, *arguments)
    finally:
        task.arrays = None
        set_error_state(quiet)


def _loop_over_arrays(
    task: GraphTask, node: Node, edges: Sequence[EdgeTuple | None], grads: Any
) -> None:
    """Bring `grads` to where `edges` lead, run the node that is next, and so on.

    Nodes wait in the ready queue `ready`, a heap, and their gradients in the input buffers
    `buffers`. Gradients of leaves meet in `leaves`.
    """
    side = task.side
    backend = side.backend
    add = side.add
    first = grads
    captures = task.captures
    kept = task.kept if task.prunes else None
    keep_graph = task.keep_graph
    kernels = kernel_namespace(backend)
    counts = task.count(task.roots) if watch.leaves else None
    ready: list[tuple[int, Node]] = []
    buffers: dict[Node, Any] = {}
    leaves: dict[Node, Any] = {}
    while True:
        # Bring every gradient to the node that its edge leads to.
        index = -1
        for edge in edges:
            index += 1
            if edge is None:
                continue
            target: Any = edge[0]
            if kept is not None and target not in kept:
                continue
            grad = grads[index]
            if grad is None:
                if target._is_leaf_node:
                    if counts is not None:
                        task.arrays = buffers, leaves, None, None, None, None, edges, index
                        _pass_leaf(task, node, index, target, counts, leaves)
                elif target not in buffers:
                    heappush(ready, (-target.sequence_nr, target))
                    buffers[target] = None
                continue
            metadata = target.input_metadata
            if grad.shape != metadata[0] or grad.dtype is not metadata[1]:
                if metadata.__class__ is list:
                    _gather(node, index, edge, grad, ready, buffers, side, kernels)
                    continue
                grad = conform_array(node, index, grad, target, metadata, backend, kernels)
            if target._is_leaf_node:
                if counts is None:
                    if captures is not None or target.meta.grad is None:
                        held = leaves.get(target)
                        leaves[target] = grad if held is None else add(held, grad)
                        continue
                else:
                    if target in leaves:
                        grad = add(leaves.pop(target), grad)
                    if counts[target]:
                        counts[target] -= 1
                        leaves[target] = grad
                        continue
                if captures is None and target._array_backend is backend:
                    target.accumulate_array(grad)
                    if target.meta.post_accumulate:
                        task.arrays = buffers, leaves, None, None, None, None, edges, index
                        call_hooks_of_leaf(task, target)
                elif captures is None or not task.capture(target, grad):
                    task.arrays = buffers, leaves, None, None, None, None, edges, index
                    bring_to_leaf(task, node, index, target, grad)
            elif target in buffers:
                held = buffers[target]
                buffers[target] = grad if held is None else add(held, grad)
            else:
                heappush(ready, (-target.sequence_nr, target))
                buffers[target] = grad
        if not ready:
            break
        node = heappop(ready)[1]
        arrived = buffers.pop(node)
        # Run it, on arrays if it can be.
        edges = node.next_edges
        if (
            node._array_backend is backend
            and arrived is not None
            and (captures is None or node not in captures)
        ):
            try:
                if arrived.__class__ is list:
                    grads = node.apply_arrays(kernels, edges, *arrived)
                else:
                    grads = node.apply_arrays(kernels, edges, arrived)
            except NoArrayKernelError:
                pass
            else:
                arrived = None  # a leaf may take over an array that nothing else holds
                if not keep_graph:
                    node._release_saved()
                continue
        task.arrays = buffers, leaves, None, None, None, None, edges, -1
        held = arrived if arrived is None or arrived.__class__ is list else [arrived]
        arrived = grad = grads = None  # so that who else holds them can be counted
        tensors: Any = run_node_on_tensors(task, node, held)
        held = None
        edges = node.next_edges
        grads = as_arrays(tensors, side)
        if grads is None:
            leave_arrays(task, node, edges, tensors, {**buffers, **leaves})
            return
        tensors = None  # as `arrived` above
    if first.__class__ is list:
        first.clear()  # else no leaf could take over what frames further out hold
    while leaves:
        target, grad = grads = leaves.popitem()  # held as above: what it can own is counted
        if captures is None and target._array_backend is backend:
            target.accumulate_array(grad)
        else:
            complete_leaf(task, target, grad, leaves)


def complete_leaf(task: GraphTask, leaf: Any, grad: Any, leaves: dict[Node, object]) -> None:
    """Capture the gradient of `leaf` at the end of a run, or bring it to another backend."""
    if task.captures is None or not task.capture(leaf, grad):
        task.arrays = {}, leaves, None, None, None, None, (), -1
        bring_to_leaf(task, GRAPH_ROOT, 0, leaf, grad)


def bring_to_leaf(task: GraphTask, node: Node, index: int, target: object, grad: object) -> None:
    """Interrupt the run for a leaf that is elsewhere."""
    _call_from_arrays(task, _run_leaf, task, node, index, target, grad)


def arrays_of_task(task: GraphTask, tensors: Sequence[TensorBase | None]) -> Sequence[Any] | None:
    """Return the arrays of `tensors`; None if one is not a plain tensor of the run's backend."""
    return as_arrays(tensors, task.side)


def _gather(
    node: Node,
    index: int,
    edge: EdgeTuple,
    grad: Any,
    ready: list[tuple[int, Node]],
    buffers: dict[Node, Any],
    side: ArraySide,
    kernels: KernelNamespace,
) -> None:
    """Add `grad` to what waits at one output of a node with several."""
    target, output_nr = edge[0], edge[1]
    gathered = buffers.get(target)
    if gathered is None:
        if target not in buffers:
            heappush(ready, (-target.sequence_nr, target))
        gathered = buffers[target] = [None] * len(target.input_metadata)
    metadata = cast("list[Metadata]", target.input_metadata)[output_nr]
    if grad.shape != metadata[0] or grad.dtype is not metadata[1]:
        grad = conform_array(node, index, grad, target, metadata, side.backend, kernels)
    present = gathered[output_nr]
    gathered[output_nr] = grad if present is None else side.add(present, grad)


def _pass_leaf(
    task: GraphTask,
    node: Node,
    index: int,
    target: Any,
    counts: dict[Node, int],
    leaves: dict[Node, object],
) -> None:
    """Count a gradient that did not come; after the last one the leaf has all it gets."""
    if counts[target]:
        counts[target] -= 1
    elif target in leaves:
        _call_from_arrays(task, _run_leaf, task, node, index, target, leaves.pop(target))
    elif is_watched(target):
        _call_from_arrays(task, run_leaf, task, target, [None])
    task.arrays = None


def call_hooks_of_leaf(task: GraphTask, leaf: AccumulateGrad) -> None:
    task.node = leaf
    try:
        _call_from_arrays(task, run_post_accumulate_hooks, leaf.variable, leaf.meta.post_accumulate)
    finally:
        task.node = None


def _run_leaf(
    task: GraphTask, node: Node, index: int, target: AccumulateGrad, grad: object
) -> None:
    """Bring a complete gradient to a leaf that has hooks, is captured, or is elsewhere."""
    shape, dtype = cast(Metadata, target.input_metadata)
    tensor = task.side.wrap(grad, None)
    if target._node_hooks is not None:
        tensor = own(tensor)
    tensor = conform_tensor(node, index, tensor, shape, dtype, target._array_backend)
    run_leaf(task, target, [tensor])


def run_node_on_tensors(
    task: GraphTask, node: Node, arrived: list[object] | None
) -> Sequence[TensorBase | None]:
    """Run `node` on tensors made of the arrays that came to it; on its own backend, if that is
    another one.
    """
    if node._fusion is not None:
        split(node)
    if arrived is not None and (not node._is_formula_node or node._node_hooks is not None):
        own_arrays(arrived, task.side.is_mutable)
    tensors = as_tensors(node, arrived, task.side.wrap)
    backend = node._array_backend
    if backend is not None and backend is not task.side.backend:
        metadata = node.input_metadata
        wanted = metadata if isinstance(metadata, list) else [metadata]
        tensors = [
            None if each is None else conform_tensor(GRAPH_ROOT, 0, each, shape, dtype, backend)
            for each, (shape, dtype) in zip(tensors, wanted, strict=True)
        ]
    returned: Sequence[TensorBase | None] = _call_from_arrays(task, run_node, task, node, tensors)
    return returned


def leave_arrays(
    task: GraphTask,
    node: Node,
    edges: Sequence[EdgeTuple | None],
    grads: Sequence[TensorBase | None],
    buffers: dict[Node, object],
) -> None:
    """Go on over tensors, since `node` returned `grads`, which are not all plain tensors of the
    backend.
    """
    waiting: list[EdgeTuple] = []
    held: list[TensorBase | None] = []
    for target, arrived in buffers.items():
        for output_nr, grad in enumerate(as_tensors(target, arrived, task.side.wrap)):
            waiting.append((target, output_nr))
            held.append(grad)
    _call_from_arrays(task, loop_over_tensors, task, node, (*edges, *waiting), (*grads, *held))
