"""The engine: runs a graph backwards without recursion, on plain arrays where nobody can tell, else
on tensors.

The node with the highest sequence number runs first. Since edges lead to lower ones, no gradient
for it can still come. Only for an AccumulateGrad, which runs as soon as its gradient is complete,
gradients have to be counted. Over arrays they are not, unless somebody could watch it run: a first
gradient of a leaf is completed at the end, and to one that is there already each is added as it
comes. Gradients that meet at a node are added in the order in which the nodes ran.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import copy_context
from functools import cache
from heapq import heappop, heappush, heappushpop
from threading import Thread
from typing import Any, Final, TypeAlias, cast

from dovetail_dispatcher import NoArrayKernelError, array_kernels
from dovetail_dispatcher.calls.array_wrapping import array_wrapper
from dovetail_dispatcher.table.kernel_namespace import ArrayKernels
from dovetail_kernel.devices.backends import Backend, backend_of_signature
from dovetail_kernel.keys.interception import NOT_PLAIN
from dovetail_kernel.keys.state import DisableTorchFunction, dispatch_state, set_state, state
from dovetail_kernel.tensor.tensor_base import TensorBase
from dovetail_kernel.types.signature import NO_GRAD, NORMAL, WRAPPED_BIT

from ..graph import engine_ops as calls
from ..graph.accumulate import AccumulateGrad, run_post_accumulate_hooks, watch
from ..graph.flatten import flatten
from ..graph.node import EdgeTuple, Metadata, Node
from ..recording.fused_nodes import split
from .anomaly import anomaly_mode
from .evaluate import evaluate, is_watched, run_leaf
from .graph_task import PRUNED, GraphTask, current_task
from .validation import conform_array, conform_tensor

EdgeOrNone: TypeAlias = "EdgeTuple | None"

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
    task = GraphTask(
        roots, backend_of_signature(grads[0]._signature), keep_graph, create_graph, outer
    )
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
        with DisableTorchFunction():  # what the engine calls is nobody's call of a function
            _run(task, grads, wanted, capture)
        return
    if wanted is not None:
        task.want(wanted, capture)
    arrays = None
    side = array_side(task.backend)
    if not task.create_graph and not before & ~NO_GRAD and not anomaly_mode()[0]:
        arrays = _as_arrays(grads, side)
    if arrays is not None:
        _run_quietly(task, side, _ROOT, task.roots, arrays)
    else:
        _run_loudly(task, _ROOT, task.roots, grads)


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
        The tensor that holds it; None if nobody has seen one.
    """
    roots = (root,)
    task = GraphTask(roots, side.backend, keep_graph, False, None)
    node: Any = root[0]
    if (
        node._array_backend is not None
        or node._is_leaf_node
        or node.input_metadata.__class__ is list
    ):
        _run_quietly(task, side, _ROOT, roots, (grad,))
        return
    # A node that takes tensors, as those of Functions do: the loop over arrays begins after it.
    edges = node.next_edges
    if tensor is None:
        tensor = side.wrap(grad, None)
    before = state()
    set_state(before | NO_GRAD)
    current_task.set(task)
    try:
        if node._is_flat and node._node_hooks is None:
            task.node = node
            grads = node.apply_tensors(tensor)
            task.node = None
            if not keep_graph and node._entries:
                node._release_saved()
        else:
            grads = _evaluate(task, node, (tensor,))
    finally:
        current_task.set(None)
        set_state(before)
    arrays = _as_arrays(grads, side)
    if arrays is None:
        _run_loudly(task, node, edges, grads)
    else:
        grads = ()  # a leaf may take over an array that no tensor holds
        _run_quietly(task, side, node, edges, arrays)


def _run_quietly(
    task: GraphTask, side: ArraySide, node: Node, edges: Sequence[EdgeOrNone], grads: Sequence[Any]
) -> None:
    """Run over arrays. Overflow, division by zero and NaN are results here, and no reason to
    warn.
    """
    error_state = side.error_state
    if error_state is None:
        _run_arrays(task, side, node, edges, grads)
    else:
        set_error_state, reset_error_state, quiet = error_state
        task.error_token = set_error_state(quiet)
        try:
            _run_arrays(task, side, node, edges, grads)
        finally:
            reset_error_state(task.error_token)
    if task.callbacks:
        _in_task(task, _call_back, task)


def _run_loudly(
    task: GraphTask, node: Node, edges: Sequence[EdgeOrNone], grads: Sequence[TensorBase | None]
) -> None:
    """Run over tensors."""
    _in_task(task, _run_tensors, task, node, edges, grads)
    if task.callbacks:
        _in_task(task, _call_back, task)


def _call_back(task: GraphTask) -> None:
    done = 0
    while done < len(task.callbacks):  # which may grow meanwhile
        task.callbacks[done]()
        done += 1


def _in_task(task: GraphTask, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call what may lead to code of the user, which can ask about `task`, in the grad mode of the
    run.
    """
    before = state()
    set_state(before & ~NO_GRAD if task.create_graph else before | NO_GRAD)
    current_task.set(task)
    try:
        return function(*arguments)
    finally:
        current_task.set(task.outer)
        set_state(before)


def _aloud(task: GraphTask, function: Callable[..., Any], *arguments: Any) -> Any:
    """Interrupt the run over arrays for what may lead to code of the user, in the error state that
    the user chose.
    """
    error_state = array_side(task.backend).error_state
    if error_state is None:
        return _in_task(task, function, *arguments)
    set_error_state, reset_error_state, quiet = error_state
    reset_error_state(task.error_token)
    try:
        return _in_task(task, function, *arguments)
    finally:
        task.error_token = set_error_state(quiet)


def _evaluate(
    task: GraphTask, node: Node, grads: Sequence[TensorBase | None]
) -> Sequence[TensorBase | None]:
    """Run `node` on tensors: at once if there is nothing around it, as for most nodes of a
    Function.
    """
    if (
        node._node_hooks is not None
        or node._is_formula_node
        or task.captures is not None
        or anomaly_mode()[0]
    ):
        return evaluate(task, node, list(grads))
    outer = task.node
    task.node = node
    try:
        returned = node.apply_tensors(*grads)
    finally:
        task.node = outer
    if not task.keep_graph:
        node._release_saved()
    return returned if node._is_flat else flatten(node, returned)


def _run_arrays(
    task: GraphTask, side: ArraySide, node: Node, edges: Sequence[EdgeOrNone], grads: Sequence[Any]
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
                            _aloud(
                                task,
                                run_post_accumulate_hooks,
                                target.variable,
                                target.meta.post_accumulate,
                            )
                    else:
                        _aloud(task, _run_leaf_on_array, task, node, index, target, grad)
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
                grad = _gather_array(node, index, edge, grad, held, backend, kernels)
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
                        _aloud(task, run_leaf, task, target, None)
                    continue
                if target._array_backend is backend and captures is None:
                    held = given = None  # the leaf may take over an array that nobody else holds
                    target.accumulate_array(grad)
                    if target.meta.post_accumulate:
                        _aloud(
                            task,
                            run_post_accumulate_hooks,
                            target.variable,
                            target.meta.post_accumulate,
                        )
                else:
                    _aloud(task, _run_leaf_on_array, task, node, index, target, grad)
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
                _leave_arrays(task, _ROOT, (), (), [*ready, (0, node)], {**buffers, **leaves})
                return
            tensors = _aloud(task, _evaluate, task, node, _as_tensors(node, arrived, side.wrap))
            found = _as_arrays(tensors, side)
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
            _aloud(task, _run_leaf_on_array, task, _ROOT, 0, target, grad)


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


def _run_leaf_on_array(
    task: GraphTask, node: Node, index: int, target: AccumulateGrad, grad: Any
) -> None:
    """Bring a complete gradient to a leaf that has hooks, is captured, or is elsewhere."""
    shape, dtype = cast(Metadata, target.input_metadata)
    tensor = array_side(task.backend).wrap(grad, None)
    run_leaf(task, target, conform_tensor(node, index, tensor, shape, dtype, target._array_backend))


def _gather_array(
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


class ArraySide:
    """What every run over the arrays of a backend asks of it.

    Attributes
    ----------
    array_type
        The class of its arrays.
    error_state
        How to keep its floating-point warnings back; None if it has none.
    plain, mask
        A tensor is a plain one of the backend if of the bits `mask` its signature has `plain`.
    wrap
        Makes tensors of its arrays outside inference mode.
    """

    __slots__ = ("array_type", "backend", "error_state", "mask", "plain", "wrap")

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.array_type = backend.arrays.array_types[0]
        self.error_state = backend.arrays.error_state
        self.plain = backend.bit & ~WRAPPED_BIT
        self.mask = self.plain | NOT_PLAIN | WRAPPED_BIT
        self.wrap = array_wrapper(backend, backend.bit | NORMAL)


array_side: Final = cache(ArraySide)


def _as_tensors(
    node: Node, grad: Any, wrap: Callable[[Any, None], TensorBase]
) -> list[TensorBase | None]:
    """Return the arrays that came to `node` as one tensor or None per output."""
    if type(grad) is list:
        return [None if each is None else wrap(each, None) for each in grad]
    if grad is None:
        return [None] * node._num_outputs
    return [wrap(grad, None)]


def _as_arrays(tensors: Sequence[TensorBase | None], side: ArraySide) -> Sequence[Any] | None:
    """Return the arrays of `tensors`; None if one is not a plain tensor of the backend."""
    plain = side.plain
    mask = side.mask
    arrays: list[Any] = []
    for tensor in tensors:
        if tensor is None:
            arrays.append(None)
        elif tensor._signature & mask == plain:
            arrays.append(tensor.array)
        else:
            return None
    return arrays


def _leave_arrays(
    task: GraphTask,
    node: Node,
    edges: Sequence[EdgeOrNone],
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
        for output_nr, grad in enumerate(_as_tensors(each, buffers[each], wrap)):
            waiting.append((each, output_nr))
            held.append(grad)
    _aloud(task, _run_tensors, task, node, (*edges, *waiting), (*grads, *held))


def _run_tensors(
    task: GraphTask, node: Node, edges: Sequence[EdgeOrNone], grads: Sequence[TensorBase | None]
) -> None:
    """The engine's loop over tensors; like that over arrays, it begins with `grads` as if `node`
    had returned them.
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
                _gather_tensor(node, index, target, edge[1], grad, buffers)
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


def _gather_tensor(
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
        gathered[output_nr] = grad if held is None else calls.add(held, grad)
    else:
        grad = conform_tensor(node, index, grad, *metadata, target._array_backend)
        held = buffers.get(target)
        buffers[target] = grad if held is None else calls.add(held, grad)


class GraphRoot(Node):
    """Stands for the caller of the engine where a message names the node that a gradient came
    from.
    """

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
            "Final callbacks can only be installed during backward pass. Call this from a hook or "
            "backward."
        )
    task.callbacks = (*task.callbacks, callback)


def current_graph_task_id() -> int:
    """Return the number of the backward under way, -1 outside."""
    task = current_task.get()
    return -1 if task is None else task.id


def runs_whole_graph() -> bool:
    """Return whether the backward under way, and those it is nested in, were asked for all leaves
    rather than some.
    """
    task = current_task.get()
    while task is not None:
        if task.kept is not None:
            return False
        task = task.outer
    return True


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
        raise TypeError(
            f"_will_engine_execute_node expects an grad_fn, but got {type(node).__name__}"
        )
    task = current_task.get()
    if task is None:
        raise RuntimeError(
            "_get_should_execute_nodes should only be called during the backward pass"
        )
    return task.runs(node)
