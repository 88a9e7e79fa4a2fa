"""Answers code that a backward calls: which run and which node it is in."""

from __future__ import annotations

from ...graph.node import Node
from ..tasks.graph_task import GraphTask, current_task
from .plan import dry_run


def current_graph_task() -> GraphTask | None:
    """Return the running backward, or None."""
    return current_task.get()


def current_graph_task_id() -> int:
    """Return the number of the running backward, or -1."""
    task = current_task.get()
    return -1 if task is None else task.id


def current_autograd_node() -> Node | None:
    """Return the running node, or None."""
    task = current_task.get()
    return None if task is None or task.node is None else task.node.presented()


def will_engine_execute_node(node: Node) -> bool:
    """Return whether the backward under way runs `node`, or captures its gradient.

    Raises
    ------
    RuntimeError
        Outside backward, or if `node` is not a node.
    """
    if not isinstance(node, Node):
        raise RuntimeError(
            f"_will_engine_execute_node expects an grad_fn, but got {type(node).__name__}"
        )
    task = current_task.get()
    if task is None:
        raise RuntimeError(
            "_get_should_execute_nodes should only be called during the backward pass"
        )
    return task.gets_gradient(node)


def current_graph_task_execution_order() -> list[Node]:
    """Return the nodes that the running backward executes, in order.

    PyTorch answers only inside the first node, and with multithreading disabled.

    Raises
    ------
    RuntimeError
        Outside backward.
    """
    task = current_task.get()
    if task is None:
        raise RuntimeError(
            "_current_graph_task_execution_order should only be called during the backward pass"
        )
    return [step.node for step in dry_run(task)]
