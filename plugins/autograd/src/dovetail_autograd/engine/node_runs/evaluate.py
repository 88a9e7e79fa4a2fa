"""Running one node on tensors with all that may surround it: hooks, captured and retained
gradients, anomaly mode.
"""

from __future__ import annotations

from collections.abc import Sequence

from dovetail_kernel import TensorBase, set_state, state
from dovetail_kernel.keys import functions_as_they_are, interception
from dovetail_kernel.tensor import holders

from ...graph import engine_ops
from ...graph.accumulate import AccumulateGrad, run_post_accumulate_hooks
from ...graph.autograd_meta import meta_of
from ...graph.flatten import flatten
from ...graph.hooks import NodeHooks, run_node_hooks, run_tensor_hooks
from ...graph.node import Node
from .. import anomaly
from ..tasks.graph_task import GraphTask
from .own_gradients import own_tensors
from .validate_gradient import conform_all


def evaluate(
    task: GraphTask, node: Node, grads: list[TensorBase | None]
) -> Sequence[TensorBase | None]:
    """Run `node` on the gradients of its outputs; return those of its inputs, one per edge.

    The order is that of PyTorch: tensor hooks, retained gradients, captured gradients, node
    pre-hooks, the node, node hooks. A node that is only captured does not run.
    """
    outer = task.node
    task.node = node
    try:
        hooks = node._node_hooks
        if hooks is not None:
            _before_capture(hooks, grads)
        captures = task.captures and task.captures.get(node)
        if captures:
            for output_nr, position in captures:
                task.captured_vars[position] = grads[output_nr]
            if not task.runs(node):
                return [None] * len(node.next_edges)
            if not node._is_formula_node:
                own_tensors(grads)  # what was captured stays
        given = tuple(grads)
        if hooks is not None and hooks.before:
            given = run_node_hooks(hooks.before, given)
        is_awaited = hooks is not None and hooks.after
        if not given or given[0] is None or interception.is_used() or anomaly.anomaly_mode()[0]:
            returned = _apply(node, given)
        else:  # as _apply does, which nothing else is asked of
            returned = flatten(node, node.apply_tensors(*given))
        hooks = node._node_hooks  # what unpacks a saved tensor may register them
        if hooks is not None and hooks.after:
            separate = list(conform_all(node, returned))
            returned = ()
            own_tensors(separate)
            inputs = given if is_awaited else ()  # as PyTorch, which keeps them for such hooks
            returned = run_node_hooks(hooks.after, tuple(separate), inputs)
    finally:
        task.node = outer
    if not task.keep_graph:
        node._release_saved()
    return returned


def run_node(
    task: GraphTask, node: Node, grads: Sequence[TensorBase | None]
) -> Sequence[TensorBase | None]:
    """Do what `evaluate` does, at once where nothing surrounds the node, as for most nodes of a
    Function.
    """
    if (
        node._node_hooks is not None
        or node._is_formula_node
        or task.captures is not None
        or anomaly.anomaly_mode()[0]
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


def _before_capture(hooks: NodeHooks, grads: list[TensorBase | None]) -> None:
    for output_nr, tensor_hooks in hooks.tensor.items():
        grads[output_nr] = run_tensor_hooks(tensor_hooks, grads[output_nr])
    for output_nr, reference in hooks.retained.items():
        tensor = reference()
        grad = grads[output_nr]
        if tensor is not None and grad is not None:
            meta = meta_of(tensor)
            meta.grad = (
                engine_ops.clone(grad) if meta.grad is None else engine_ops.add(meta.grad, grad)
            )


def _apply(node: Node, grads: tuple[TensorBase | None, ...]) -> Sequence[TensorBase | None]:
    if node._is_formula_node and not any([grad is not None for grad in grads]):
        return [None] * len(node.next_edges)
    if node._is_formula_node and interception.is_used():
        before = state()
        try:  # saved tensors of overriding classes take part as they are
            set_state(functions_as_they_are(before))
            return _applied(node, grads)
        finally:
            set_state(before)
    return _applied(node, grads)


def _applied(node: Node, grads: tuple[TensorBase | None, ...]) -> Sequence[TensorBase | None]:
    if not anomaly.anomaly_mode()[0]:
        return flatten(node, node.apply_tensors(*grads))
    with anomaly.watch(node):
        returned = flatten(node, node.apply_tensors(*grads))
        anomaly.check_nan(node, returned)
    return returned


def is_watched(node: AccumulateGrad) -> bool:
    """Return whether a leaf has hooks: they learn, too, that no gradient came."""
    return node._node_hooks is not None or bool(node.meta.post_accumulate)


def run_leaf(task: GraphTask, node: AccumulateGrad, grads: list[TensorBase | None]) -> None:
    """Bring a complete gradient, or none, to a leaf that has hooks or is captured, or while
    gradients are tensors.

    Parameters
    ----------
    grads
        The gradient, which is taken out.
    """
    outer = task.node
    task.node = node
    try:
        hooks = node._node_hooks
        if hooks is not None:
            _before_capture(hooks, grads)
        captures = task.captures and task.captures.get(node)
        if captures:
            for _, position in captures:
                task.captured_vars[position] = grads[0]
            if not task.runs(node):
                return
        given = tuple(grads)
        grads[0] = None
        if hooks is not None and hooks.before:
            given = run_node_hooks(hooks.before, given)
        if given[0] is not None:
            is_unshared = not holders(given, 0)  # before the call holds the gradient too
            node.accumulate_tensor(given[0], is_unshared=is_unshared)
        elif node.meta.post_accumulate:
            run_post_accumulate_hooks(node.variable, node.meta.post_accumulate)
        if hooks is not None and hooks.after:
            run_node_hooks(hooks.after, (), given)
    finally:
        task.node = outer
