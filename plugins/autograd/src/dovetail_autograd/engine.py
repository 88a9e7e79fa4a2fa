"""The engine: runs a graph backwards without recursion, on plain arrays where nobody can tell, else on tensors.

Ready nodes run by the highest sequence number; AccumulateGrad runs as soon as its gradient is complete. Gradients that
meet at a node are added in the order in which the nodes ran.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import copy_context
from functools import cache
from heapq import heappop, heappush, heappushpop
from threading import Thread
from typing import Any, Final, TypeAlias

from dovetail_dispatcher import NoArrayKernelError, array_kernels
from dovetail_dispatcher.array_calls import array_wrapper
from dovetail_kernel.backends import Backend, backend_of_signature
from dovetail_kernel.signature import NO_GRAD, NORMAL, OVERRIDES
from dovetail_kernel.state import set_state, state
from dovetail_kernel.tensor_base import TensorBase

from . import calls
from .accumulate import AccumulateGrad
from .anomaly import anomaly_mode
from .evaluate import evaluate, run_leaf
from .graph_task import PRUNED, GraphTask, current_task
from .node import EdgeTuple, Node
from .validation import conform_array, conform_tensor

EdgeOrNone: TypeAlias = "EdgeTuple | None"

_DEPTH_OF_A_THREAD: Final = 40
"""A backward nested this deep inside others continues on a thread of its own, with a fresh stack."""


def execute(
    roots: Sequence[EdgeTuple],
    grads: Sequence[TensorBase],
    keep_graph: bool,
    create_graph: bool,
    wanted: Sequence[EdgeTuple] | None = None,
    capture: bool = False,
) -> Sequence[TensorBase | None]:
    """Run the graph from `roots` down.

    Parameters
    ----------
    roots
        The edges of the outputs.
    grads
        The gradient at each root, of the right shape.
    keep_graph
        Keep saved values.
    create_graph
        Record the run itself.
    wanted
        Run only what leads to these edges; default: everything.
    capture
        Return the gradients at `wanted` instead of running those nodes for their own sake.

    Returns
    -------
    sequence
        One gradient, or None if unused, per edge of `wanted` if `capture`; else empty.
    """
    outer = current_task.get()
    task = GraphTask(keep_graph, create_graph, backend_of_signature(grads[0]._signature), outer)
    if outer is not None:
        task.depth = outer.depth + 1
        if task.depth % _DEPTH_OF_A_THREAD == 0:
            return _on_new_thread(task, roots, grads, wanted, capture)
    _run(task, roots, grads, wanted, capture)
    return task.captured


def _on_new_thread(task: GraphTask, *arguments: Any) -> Sequence[TensorBase | None]:
    failure: list[BaseException] = []

    def run() -> None:
        try:
            _run(task, *arguments)
        except BaseException as error:
            failure.append(error)

    thread = Thread(target=copy_context().run, args=(run,), name="dovetail nested backward")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return task.captured


def _run(
    task: GraphTask,
    roots: Sequence[EdgeTuple],
    grads: Sequence[TensorBase],
    wanted: Sequence[EdgeTuple] | None,
    capture: bool,
) -> None:
    before = state()
    backend = task.backend
    assert backend is not None
    task.count(roots)
    if wanted is not None:
        task.want(wanted, capture)
    on_arrays = task.uniform and not task.create_graph and not before & ~NO_GRAD and not anomaly_mode()[0]
    plain = backend.bit
    mask = plain | OVERRIDES
    for grad in grads:
        if grad._signature & mask != plain:
            on_arrays = False
    set_state(before & ~NO_GRAD if task.create_graph else before | NO_GRAD)
    current_task.set(task)
    try:
        if on_arrays:
            _run_quietly(task, roots, [grad.array for grad in grads])
        else:
            _run_tensors(task, roots, grads, [], _ROOT)
        for callback in task.callbacks:
            callback()
    finally:
        current_task.set(task.outer)
        set_state(before)


def _run_quietly(task: GraphTask, edges: Sequence[EdgeTuple], grads: Sequence[Any]) -> None:
    """Run over arrays while the array library does not warn of overflow, division by zero or NaN."""
    assert task.backend is not None
    error_state = task.backend.arrays.error_state
    if error_state is None:
        _run_arrays(task, edges, grads)
        return
    set_error_state, reset_error_state, quiet = error_state
    token = set_error_state(quiet)
    try:
        _run_arrays(task, edges, grads)
    finally:
        reset_error_state(token)


def _run_arrays(task: GraphTask, edges: Sequence[EdgeOrNone], grads: Sequence[Any]) -> None:
    """The engine's loop over plain arrays. A node that needs tensors gets them made for it, and its results unwrapped.

    It begins in the middle, with `grads` as if a node before the roots had just returned them.
    """
    counts = task.counts
    buffers = task.buffers
    captures = task.captures
    keep_graph = task.keep_graph
    backend = task.backend
    assert backend is not None
    kernels = array_kernels(backend)
    wrap = wrapper_of(backend)
    plain = backend.bit
    mask = plain | OVERRIDES
    ready: list[tuple[int, Node, Any]] = []
    node: Node = _ROOT
    while True:
        following = None
        index = -1
        for edge in edges:
            index += 1
            if edge is None:
                continue
            grad = grads[index]
            target = edge[0]
            metadata = target.input_metadata
            if grad is None:
                grad = buffers.pop(target, None)
            elif metadata.__class__ is list:
                grad = _gather_array(node, index, edge, grad, buffers, backend)
            else:
                shape, dtype = metadata
                if grad.shape != shape or grad.dtype is not dtype:
                    grad = conform_array(node, index, grad, shape, dtype, backend)
                if buffers and target in buffers:
                    grad = buffers.pop(target) + grad
            left = counts[target]
            if left:
                counts[target] = left - 1
                if left < PRUNED and grad is not None:
                    buffers[target] = grad
            elif target.is_leaf:
                if grad is None:
                    pass
                elif target.backend is backend and (captures is None or target not in captures):
                    target.accumulate_array(grad)
                else:
                    run_leaf(task, target, wrap(grad, None))
            elif following is None:
                following = target
                arrived = grad
            elif following.sequence_nr > target.sequence_nr:
                heappush(ready, (-target.sequence_nr, target, grad))
            else:
                heappush(ready, (-following.sequence_nr, following, arrived))
                following = target
                arrived = grad
        if following is None:
            if not ready:
                return
            _, node, arrived = heappop(ready)
        elif ready and -ready[0][0] > following.sequence_nr:
            _, node, arrived = heappushpop(ready, (-following.sequence_nr, following, arrived))
        else:
            node = following
        edges = node.next_edges
        if node.backend is not backend or arrived is None or (captures is not None and node in captures):
            on_tensors = True
        else:
            on_tensors = False
            try:
                if arrived.__class__ is list:
                    grads = node.apply_arrays(kernels, *arrived)
                else:
                    grads = node.apply_arrays(kernels, arrived)
            except NoArrayKernelError:
                on_tensors = True
            else:
                if not keep_graph:
                    node.release()
        if on_tensors:
            tensors = evaluate(task, node, _as_tensors(node, arrived, wrap))
            grads = []
            for tensor in tensors:
                if tensor is None:
                    grads.append(None)
                elif tensor._signature & mask == plain:
                    grads.append(tensor.array)
                else:
                    _leave_arrays(task, node, tensors, ready, wrap)
                    return
            tensors = ()
            tensor = None
        arrived = None


def _gather_array(
    node: Node, index: int, edge: EdgeTuple, grad: Any, buffers: dict[Node, Any], backend: Any
) -> list[Any]:
    """Add `grad` to what waits at one output of a node with several; return all that waits there."""
    target, output_nr = edge[0], edge[1]
    metadata: Any = target.input_metadata
    gathered: list[Any] = buffers.pop(target, None) or [None] * len(metadata)
    shape, dtype = metadata[output_nr]
    if grad.shape != shape or grad.dtype is not dtype:
        grad = conform_array(node, index, grad, shape, dtype, backend)
    held = gathered[output_nr]
    gathered[output_nr] = grad if held is None else held + grad
    return gathered


@cache
def wrapper_of(backend: Backend) -> Callable[[Any, None], TensorBase]:
    """Return the function that makes tensors of the arrays of `backend` outside inference mode."""
    return array_wrapper(backend, backend.bit | NORMAL)


def _as_tensors(node: Node, grad: Any, wrap: Callable[[Any, None], TensorBase]) -> list[TensorBase | None]:
    """Return the arrays that came to `node` as one tensor or None per output."""
    if type(grad) is list:
        return [None if each is None else wrap(each, None) for each in grad]
    if grad is None:
        return [None] * node.num_outputs
    return [wrap(grad, None)]


def _leave_arrays(
    task: GraphTask, node: Node, grads: Sequence[TensorBase | None], ready: list[tuple[int, Node, Any]], wrap: Any
) -> None:
    """Go on with tensors, since `node` returned `grads`, which are not all plain arrays."""

    def converted(node: Node, grad: Any) -> Any:
        tensors = _as_tensors(node, grad, wrap)
        return tensors if type(node.input_metadata) is list else tensors[0]

    for each, grad in task.buffers.items():
        task.buffers[each] = converted(each, grad)
    _run_tensors(task, node.next_edges, grads, [(nr, each, converted(each, grad)) for nr, each, grad in ready], node)


def _run_tensors(
    task: GraphTask,
    edges: Sequence[EdgeOrNone],
    grads: Sequence[TensorBase | None],
    ready: list[tuple[int, Node, Any]],
    node: Node,
) -> None:
    """The engine's loop over tensors; like that over arrays, it begins with `grads` as if `node` had returned them."""
    counts = task.counts
    buffers = task.buffers
    while True:
        for index, (edge, grad) in enumerate(zip(edges, grads, strict=False)):
            if edge is None:
                continue
            target = edge[0]
            left = counts[target]
            counts[target] = left - 1
            if left >= PRUNED:
                continue
            if grad is not None:
                _gather_tensor(node, index, target, edge[1], grad, buffers)
            if left:
                continue
            gathered = buffers.pop(target, None)
            if type(target) is not AccumulateGrad:
                heappush(ready, (-target.sequence_nr, target, gathered))
            elif gathered is not None:
                run_leaf(task, target, gathered)
        if not ready:
            return
        _, node, gathered = heappop(ready)
        edges = node.next_edges
        if type(gathered) is not list:
            gathered = [None] * node.num_outputs if gathered is None else [gathered]
        grads = evaluate(task, node, gathered)


def _gather_tensor(
    node: Node, index: int, target: Node, output_nr: int, grad: TensorBase, buffers: dict[Node, Any]
) -> None:
    """Add `grad`, the gradient `index` that `node` returned, to what waits at output `output_nr` of `target`."""
    metadata = target.input_metadata
    if isinstance(metadata, list):
        gathered = buffers.setdefault(target, [None] * len(metadata))
        shape, dtype = metadata[output_nr]
        grad = conform_tensor(node, index, grad, shape, dtype, target.backend)
        held = gathered[output_nr]
        gathered[output_nr] = grad if held is None else calls.add(held, grad)
    else:
        grad = conform_tensor(node, index, grad, *metadata, target.backend)
        held = buffers.get(target)
        buffers[target] = grad if held is None else calls.add(held, grad)


class GraphRoot(Node):
    """Stands for the caller of the engine where a message names the node that a gradient came from."""

    __slots__ = ()

    def name(self) -> str:
        """Return the name of the node."""
        return "GraphRoot"


_ROOT: Final = GraphRoot()


def queue_callback(callback: Any) -> None:
    """Call `callback` at the end of the backward that is under way.

    Raises
    ------
    RuntimeError
        Outside backward.
    """
    task = current_task.get()
    if task is None:
        raise RuntimeError(
            "Final callbacks can only be installed during backward pass. Call this from a hook or backward."
        )
    task.callbacks = (*task.callbacks, callback)


def current_graph_task_id() -> int:
    """Return the number of the backward under way, -1 outside."""
    task = current_task.get()
    return -1 if task is None else task.id


def current_autograd_node() -> Node | None:
    """Return the node that runs, None outside backward."""
    task = current_task.get()
    return None if task is None or task.node is None else task.node.presented()


def will_engine_execute_node(node: Node) -> bool:
    """Return whether the backward under way runs `node`.

    Raises
    ------
    RuntimeError
        Outside backward, or for something that is no node.
    """
    if not isinstance(node, Node):
        raise TypeError(f"_will_engine_execute_node expects an grad_fn, but got {type(node).__name__}")
    task = current_task.get()
    if task is None:
        raise RuntimeError("_get_should_execute_nodes should only be called during the backward pass")
    return task.runs(node)
