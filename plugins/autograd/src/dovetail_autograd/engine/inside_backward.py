"""Answers code that a backward calls: which run and which node it is in; and takes callbacks."""

from __future__ import annotations

from typing import Any

from ..graph.node import Node
from .graph_task import current_task


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
