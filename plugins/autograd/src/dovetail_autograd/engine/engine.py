"""The engine: runs a graph backwards without recursion, over plain arrays where that cannot be told
from a run over tensors, else over tensors.

The node with the highest sequence number runs first. Since edges lead to lower ones, no gradient
for it can still come. Only for an AccumulateGrad, which runs as soon as its gradient is complete,
gradients have to be counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import copy_context
from threading import Thread
from typing import Any, Final

from dovetail_kernel.devices.backends import backend_of_signature
from dovetail_kernel.keys.state import dispatch_state, functions_as_they_are, set_state, state
from dovetail_kernel.tensor.tensor_base import TensorBase
from dovetail_kernel.types.signature import NO_GRAD

from ..graph.node import EdgeTuple
from .anomaly import anomaly_mode
from .array_side import ArraySide, array_side, as_arrays
from .evaluate import run_node
from .graph_task import GRAPH_ROOT, GraphTask, current_task
from .run_on_arrays import run_on_arrays
from .run_on_tensors import run_on_tensors

_DEPTH_OF_A_THREAD: Final = 40
"""A backward nested this deep inside others continues on a thread of its own, with a fresh stack.
"""


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
    side = array_side(backend_of_signature(grads[0]._signature))
    task = GraphTask(roots, side, keep_graph, create_graph, outer)
    if outer is not None:
        task.depth = outer.depth + 1
        if task.depth % _DEPTH_OF_A_THREAD == 0:
            return _on_new_thread(task, grads, wanted, capture)
    _run(task, grads, wanted, capture)
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
    task: GraphTask, grads: Sequence[TensorBase], wanted: Sequence[EdgeTuple] | None, capture: bool
) -> None:
    before = state()
    if before & ~NO_GRAD and dispatch_state(before).function_modes:
        try:
            set_state(functions_as_they_are(before))  # what the engine calls, no user has called
            _run(task, grads, wanted, capture)
        finally:
            set_state(before)
        return
    if wanted is not None:
        task.want(wanted, capture)
    arrays = None
    if not task.create_graph and not before & ~NO_GRAD and not anomaly_mode()[0]:
        arrays = as_arrays(grads, task.side)
    if arrays is not None:
        run_on_arrays(task, GRAPH_ROOT, task.roots, arrays)
    else:
        run_on_tensors(task, GRAPH_ROOT, task.roots, grads)


def execute_plainly(
    root: EdgeTuple, grad: Any, tensor: TensorBase | None, side: ArraySide, keep_graph: bool
) -> None:
    """Run the whole graph from `root` down as `execute` does, with nothing around it: no mode and
    no other run.

    Parameters
    ----------
    grad
        The array to begin with, of the right shape and dtype.
    tensor
        The tensor that holds it; None if there is none.
    """
    roots = (root,)
    task = GraphTask(roots, side, keep_graph, False, None)
    node: Any = root[0]
    if (
        node._array_backend is not None
        or node._is_leaf_node
        or node.input_metadata.__class__ is list
    ):
        run_on_arrays(task, GRAPH_ROOT, roots, (grad,))
        return
    # A node that takes tensors, as those of Functions do: the loop over arrays begins after it.
    edges = node.next_edges
    if tensor is None:
        tensor = side.wrap(grad, None)
    before = state()
    try:
        set_state(before | NO_GRAD)
        current_task.set(task)
        if node._is_flat and node._node_hooks is None:
            task.node = node
            grads = node.apply_tensors(tensor)
            task.node = None
            if not keep_graph and node._entries:
                node._release_saved()
        else:
            grads = run_node(task, node, (tensor,))
    finally:
        try:
            current_task.set(None)
        finally:
            set_state(before)
    arrays = as_arrays(grads, side)
    if arrays is None:
        run_on_tensors(task, node, edges, grads)
    else:
        grads = ()  # a leaf may take over an array that no tensor holds
        run_on_arrays(task, node, edges, arrays)
