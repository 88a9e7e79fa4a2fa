"""The engine's loop over plain arrays: the way of nearly every backward.

A node that needs tensors gets them made for it, and its results unwrapped. Gradients of leaves are
counted only where it matters when one is complete: a first gradient of a leaf is completed at the
end, and to one that is there already each is added as it comes. Gradients that meet at a node are
added in the order in which the nodes ran.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush, heappushpop
from typing import Any, cast

from dovetail_dispatcher import NoArrayKernelError, array_kernels
from dovetail_dispatcher.table.kernel_namespace import ArrayKernels
from dovetail_kernel.devices.backends import Backend
from dovetail_kernel.tensor.tensor_base import TensorBase

from ..graph.accumulate import AccumulateGrad, run_post_accumulate_hooks, watch
from ..graph.node import EdgeTuple, Metadata, Node
from ..recording.fused_recording import split
from .array_side import ArraySide, array_side, as_arrays, as_tensors
from .evaluate import is_watched, run_leaf, run_node
from .graph_task import GRAPH_ROOT, PRUNED, GraphTask, call_back, call_in_task
from .run_on_tensors import loop_over_tensors
from .validation import conform_array, conform_tensor


def run_on_arrays(
    task: GraphTask,
    side: ArraySide,
    node: Node,
    edges: Sequence[EdgeTuple | None],
    grads: Sequence[Any],
) -> None:
    """Run what `edges` lead to, as if `node` had just returned the arrays `grads` for them.

    Overflow, division by zero and NaN are results here, and no reason to warn.
    """
    error_state = side.error_state
    if error_state is None:
        _loop_over_arrays(task, side, node, edges, grads)
    else:
        set_error_state, reset_error_state, quiet = error_state
        task.error_token = set_error_state(quiet)
        try:
            _loop_over_arrays(task, side, node, edges, grads)
        finally:
            reset_error_state(task.error_token)
    if task.callbacks:
        call_in_task(task, call_back, task)


def _call_from_arrays(task: GraphTask, function: Callable[..., Any], *arguments: Any) -> Any:
    """Interrupt the run over arrays for what may lead to code of the user, in the error state that
    the user chose.
    """
    error_state = array_side(task.backend).error_state
    if error_state is None:
        return call_in_task(task, function, *arguments)
    set_error_state, reset_error_state, quiet = error_state
    reset_error_state(task.error_token)
    try:
        return call_in_task(task, function, *arguments)
    finally:
        task.error_token = set_error_state(quiet)


def _loop_over_arrays(
    task: GraphTask,
    side: ArraySide,
    node: Node,
    edges: Sequence[EdgeTuple | None],
    grads: Sequence[Any],
) -> None:
    """The engine's loop over plain arrays. A node that needs tensors gets them made for it, and its
    results unwrapped.

    It begins in the middle, where `node` has just returned `grads` for `edges`. Nodes wait in the
    heap `ready`, their gradients in `buffers`; but `following`, the best to run next among those
    that `node` leads to, and `second`, the best of the rest, go through neither, with their
    gradients `arrived` and `waiting`. In a chain that is every node, and in a sum of many terms
    too. Gradients of leaves that nobody watches meet in `leaves` until the end.
    """
    backend = task.backend
    captures = task.captures
    keep_graph = task.keep_graph
    kernels = array_kernels(backend)
    array_type = side.array_type
    counts = task.count(task.roots) if task.kept is not None or watch.leaves else None
    leaves: dict[Node, Any] = {}
    buffers: dict[Node, Any] = {}
    ready: list[tuple[int, Node]] = []
    second: Node | None = None
    waiting: Any = None
    arrived: Any = None
    while True:
        following: Node | None = None
        given, arrived = arrived, None
        index = -1
        for edge in edges:
            index += 1
            if edge is None:
                continue
            grad = grads[index]
            target: Any = edge[0]
            if counts is None:
                if target._is_leaf_node:
                    if grad is None:
                        continue
                    metadata = target.input_metadata
                    if (
                        grad is given
                        # Passed on, as by a sum: it fits the node, and mostly what follows.
                    ):
                        if metadata != node.input_metadata:
                            grad = _conformed(node, index, grad, target, backend, kernels)
                    elif grad.shape != metadata[0] or grad.dtype is not metadata[1]:
                        grad = _conformed(node, index, grad, target, backend, kernels)
                    held = leaves.get(target)
                    if held is not None:
                        leaves[target] = held + grad
                    elif target.meta.grad is None:
                        leaves[target] = grad
                    elif target._array_backend is backend:
                        target.accumulate_array(grad)
                        if target.meta.post_accumulate:
                            _call_from_arrays(
                                task,
                                run_post_accumulate_hooks,
                                target.variable,
                                target.meta.post_accumulate,
                            )
                    else:
                        _call_from_arrays(task, _run_leaf, task, node, index, target, grad)
                    continue
            elif counts[target] >= PRUNED:
                continue
            metadata = target.input_metadata
            if metadata.__class__ is list:
                held = (
                    arrived
                    if target is following
                    else waiting
                    if target is second
                    else buffers.get(target)
                )
                grad = _gather(node, index, edge, grad, held, backend, kernels)
                if held is not None:
                    continue
            elif grad is not None:
                if grad is given:
                    if metadata != node.input_metadata:
                        grad = _conformed(node, index, grad, target, backend, kernels)
                elif grad.shape != metadata[0] or grad.dtype is not metadata[1]:
                    grad = _conformed(node, index, grad, target, backend, kernels)
                if target is following:
                    arrived = grad if arrived is None else arrived + grad
                    continue
                if target is second:
                    waiting = grad if waiting is None else waiting + grad
                    continue
                if buffers and target in buffers:
                    held = buffers[target]
                    if held is not None:
                        grad = held + grad
                    if not target._is_leaf_node:
                        buffers[target] = grad
                        continue
            elif (
                target is following
                or target is second
                or (target in buffers and not target._is_leaf_node)
            ):
                continue
            if counts is not None and target._is_leaf_node:
                if counts[target]:
                    counts[target] -= 1
                    if grad is not None:
                        buffers[target] = grad
                    continue
                held = buffers.pop(target, None)
                if grad is None:
                    grad = held
                if grad is None:
                    if is_watched(target):
                        _call_from_arrays(task, run_leaf, task, target, None)
                    continue
                if target._array_backend is backend and captures is None:
                    held = given = None  # the leaf may take over an array that nobody else holds
                    target.accumulate_array(grad)
                    if target.meta.post_accumulate:
                        _call_from_arrays(
                            task,
                            run_post_accumulate_hooks,
                            target.variable,
                            target.meta.post_accumulate,
                        )
                else:
                    _call_from_arrays(task, _run_leaf, task, node, index, target, grad)
            elif following is None:
                following = target
                arrived = grad
            else:
                if target.sequence_nr > following.sequence_nr:
                    target, following = following, target
                    grad, arrived = arrived, grad
                if second is None:
                    second = target
                    waiting = grad
                else:
                    if target.sequence_nr > second.sequence_nr:
                        target, second = second, target
                        grad, waiting = waiting, grad
                    heappush(ready, (-target.sequence_nr, target))
                    buffers[target] = grad
        if second is not None:
            if following is None:
                following = second
                arrived = waiting
                second = waiting = None
            elif second.sequence_nr > following.sequence_nr:
                following, second = second, following
                arrived, waiting = waiting, arrived
        if following is None:
            if not ready:
                break
            node = heappop(ready)[1]
            arrived = buffers.pop(node)
        elif ready and -ready[0][0] > following.sequence_nr:
            buffers[following] = arrived
            node = heappushpop(ready, (-following.sequence_nr, following))[1]
            arrived = buffers.pop(node)
        else:
            node = following
        edges = node.next_edges
        if arrived.__class__ is array_type and node._array_backend is backend and captures is None:
            try:
                grads = node.apply_arrays(kernels, edges, arrived)
            except NoArrayKernelError:
                pass
            else:
                if not keep_graph:
                    node._release_saved()
                continue
        if (
            node._array_backend is not backend
            or arrived is None
            or (captures is not None and node in captures)
            or (arrived.__class__ is list and not any([each is not None for each in arrived]))
        ):
            on_tensors = True
        else:
            on_tensors = False
            try:
                if arrived.__class__ is list:
                    defined = any([each is not None for each in arrived])
                    grads = (
                        node.apply_arrays(kernels, edges, *arrived)
                        if defined
                        else (None,) * len(edges)
                    )
                else:
                    grads = node.apply_arrays(kernels, edges, arrived)
            except NoArrayKernelError:
                on_tensors = True
            else:
                if not keep_graph:
                    node._release_saved()
        if on_tensors:
            if node._fusion is not None:
                edges = split(node)
            if second is not None:
                heappush(ready, (-second.sequence_nr, second))
                buffers[second] = waiting
                second = waiting = None
            if node._array_backend is not backend and node._array_backend is not None:
                buffers[node] = arrived
                _leave_arrays(task, GRAPH_ROOT, (), (), [*ready, (0, node)], {**buffers, **leaves})
                return
            tensors = _call_from_arrays(
                task, run_node, task, node, as_tensors(node, arrived, side.wrap)
            )
            found = as_arrays(tensors, side)
            if found is None:
                _leave_arrays(task, node, edges, tensors, ready, {**buffers, **leaves})
                return
            grads = found
            tensors = ()
    given = None  # as above
    while leaves:
        target, grad = leaves.popitem()
        if target._array_backend is backend:
            target.accumulate_array(grad)
        else:
            _call_from_arrays(task, _run_leaf, task, GRAPH_ROOT, 0, target, grad)


def _conformed(
    node: Node, index: int, grad: Any, target: Any, backend: Backend, kernels: ArrayKernels
) -> Any:
    """Return `grad` with the shape and dtype that `target` wants; as it is if `target` is
    elsewhere.
    """
    if target._array_backend is not backend and target._array_backend is not None:
        return grad
    shape, dtype = target.input_metadata
    return conform_array(node, index, grad, shape, dtype, backend, kernels)


def _run_leaf(task: GraphTask, node: Node, index: int, target: AccumulateGrad, grad: Any) -> None:
    """Bring a complete gradient to a leaf that has hooks, is captured, or is elsewhere."""
    shape, dtype = cast(Metadata, target.input_metadata)
    tensor = array_side(task.backend).wrap(grad, None)
    run_leaf(task, target, conform_tensor(node, index, tensor, shape, dtype, target._array_backend))


def _gather(
    node: Node,
    index: int,
    edge: EdgeTuple,
    grad: Any,
    held: list[Any] | None,
    backend: Backend,
    kernels: ArrayKernels,
) -> list[Any]:
    """Add `grad` to what is held at one output of a node with several; return all that is held
    there.
    """
    metadata: Any = edge[0].input_metadata
    gathered: list[Any] = [None] * len(metadata) if held is None else held
    if grad is not None:
        output_nr = edge[1]
        shape, dtype = metadata[output_nr]
        if grad.shape != shape or grad.dtype is not dtype:
            grad = conform_array(node, index, grad, shape, dtype, backend, kernels)
        present = gathered[output_nr]
        gathered[output_nr] = grad if present is None else present + grad
    return gathered


def _leave_arrays(
    task: GraphTask,
    node: Node,
    edges: Sequence[EdgeTuple | None],
    grads: Sequence[TensorBase | None],
    ready: Sequence[tuple[int, Node]],
    buffers: dict[Node, Any],
) -> None:
    """Go on with tensors, since `node` returned `grads`, which are not all plain arrays."""
    waiting: list[EdgeTuple] = []
    held: list[TensorBase | None] = []
    wrap = array_side(task.backend).wrap
    leaves = [(0, each) for each in buffers if each._is_leaf_node]
    for _, each in [*ready, *leaves]:
        for output_nr, grad in enumerate(as_tensors(each, buffers[each], wrap)):
            waiting.append((each, output_nr))
            held.append(grad)
    _call_from_arrays(task, loop_over_tensors, task, node, (*edges, *waiting), (*grads, *held))
