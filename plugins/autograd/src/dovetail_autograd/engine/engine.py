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

from dovetail_kernel import TensorBase, set_state, state
from dovetail_kernel.keys import functions_as_they_are, known_state
from dovetail_kernel.signature import NO_GRAD

from ..graph.node import EdgeTuple
from .anomaly import anomaly_mode
from .node_runs.evaluate import run_node
from .node_runs.run_on_arrays import run_on_arrays
from .node_runs.run_on_tensors import run_on_tensors
from .tasks.array_backend_of_task import array_side, as_arrays
from .tasks.graph_root import GRAPH_ROOT
from .tasks.graph_task import GraphTask, current_task
from .tasks.roots import PlainRoot

_DEPTH_OF_A_THREAD: Final = 40
"""A backward nested this deep inside others continues on a thread of its own, with a fresh stack.
"""


def execute(
    roots: Sequence[EdgeTuple],
    inputs: Sequence[TensorBase],
    keep_graph: bool,
    create_graph: bool,
    accumulate_grad: bool,
    outputs: Sequence[EdgeTuple] = (),
) -> Sequence[TensorBase | None]:
    """Run the graph from `roots` down.

    Parameters
    ----------
    roots
        The edges of what is differentiated.
    inputs
        The gradient at each of them.
    keep_graph
        Keep saved values.
    create_graph
        Record the run itself.
    accumulate_grad
        Add gradients to the ``.grad`` of leaves; else return those at `outputs`, and run these
        nodes only on the way to others of them.
    outputs
        Run only what leads to these edges. Default: everything.

    Returns
    -------
    sequence
        Without `accumulate_grad` one gradient per edge of `outputs`, None if none came; else
        nothing.

    Raises
    ------
    RuntimeError
        Without `accumulate_grad` and `outputs`; for a gradient that does not fit its root; and
        for what nodes raise.
    """
    if not accumulate_grad and not outputs:
        raise RuntimeError(
            "grad requires non-empty inputs. Name the edges whose gradients are wanted, or set "
            "accumulate_grad=True."
        )
    if not roots:
        return [None] * (0 if accumulate_grad else len(outputs))
    outer = current_task.get()
    side = array_side(inputs[0]._signature)
    task = GraphTask(keep_graph, create_graph, roots, side, outer)
    if outer is not None:
        task.reentrant_depth = outer.reentrant_depth + 1
        if task.reentrant_depth % _DEPTH_OF_A_THREAD == 0:
            return _on_new_thread(task, inputs, outputs, accumulate_grad)
    _run(task, inputs, outputs, accumulate_grad)
    return task.captured_vars


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
    return task.captured_vars


def _run(
    task: GraphTask,
    grads: Sequence[TensorBase],
    outputs: Sequence[EdgeTuple],
    accumulate_grad: bool,
) -> None:
    before = state()
    if known_state(before & ~NO_GRAD).function_modes:
        try:
            set_state(functions_as_they_are(before))  # what the engine calls, no user has called
            _run(task, grads, outputs, accumulate_grad)
        finally:
            set_state(before)
        return
    if outputs:
        task.init_to_execute(outputs, accumulate_grad)
    arrays = None
    if not task.create_graph and not before & ~NO_GRAD and not anomaly_mode()[0]:
        arrays = as_arrays(grads, task.side)
    if arrays is not None:
        run_on_arrays(task, GRAPH_ROOT, task.roots, arrays)
    else:
        run_on_tensors(task, GRAPH_ROOT, task.roots, grads)


def execute_plainly(
    root: PlainRoot, keep_graph: bool, outputs: Sequence[EdgeTuple] = (), create_graph: bool = False
) -> Sequence[TensorBase | None]:
    """Run the graph from `root` down as `execute` does, with nothing around it: no mode and no
    other run.

    Parameters
    ----------
    root
        What `plain_root` returned.
    keep_graph
        Keep saved values.
    outputs
        Return the gradients at these edges. Default: add gradients to the ``.grad`` of leaves.
    create_graph
        Record the run itself. Default: False.
    """
    edge, grad, tensor, side = root
    roots = (edge,)
    task = GraphTask(keep_graph, create_graph, roots, side)
    if outputs:
        task.init_to_execute(outputs, False)
    if create_graph:
        run_on_tensors(
            task, GRAPH_ROOT, roots, (side.wrap(grad, None) if tensor is None else tensor,)
        )
        return task.captured_vars
    node: Any = edge[0]
    if (
        outputs
        or node._array_backend is not None
        or node._is_leaf_node
        or node.input_metadata.__class__ is list
    ):
        run_on_arrays(task, GRAPH_ROOT, roots, (grad,))
        return task.captured_vars
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
    return task.captured_vars
