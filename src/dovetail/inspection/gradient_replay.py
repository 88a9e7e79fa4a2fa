"""Replay of a backward that records the gradients of each node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import dovetail_aten as aten
import dovetail_autograd
from dovetail_aten import Tensor
from dovetail_autograd import Node, get_gradient_edge, no_grad
from dovetail_kernel import restoring

from .graph_reading import walk


@dataclass(frozen=True)
class ReplayStep:
    """The gradients that one node got and returned.

    Attributes
    ----------
    node
        The node.
    made
        "nan", "infinite" or "zero" if what it returned towards the tensor is so and what it was
        given is not; else "".
    """

    node: Node
    made: str


@dataclass(frozen=True)
class Replay:
    """A backward from an output to one tensor.

    Attributes
    ----------
    kind
        What the gradient of the tensor is now: "nan", "infinite", "zero" or "ordinary".
    steps
        What each node did, in the order in which they ran.
    nodes
        Those on a path to the tensor, those recorded last first.
    """

    kind: str
    steps: list[ReplayStep]
    nodes: list[Node]


@restoring()
def replay(tensor: Tensor, output: Tensor) -> Replay:
    """Run the backward from `output`, with a gradient of ones, to `tensor`. The graph and every
    ``.grad`` stay.

    Raises
    ------
    RuntimeError
        If the graph was freed.
    """
    steps: list[ReplayStep] = []
    nodes = [node for node in _leading_to(tensor, walk([output.grad_fn])) if not node._is_leaf_node]
    leading = {*nodes, get_gradient_edge(tensor).node}
    handles = [node.register_hook(_watcher(node, leading, steps)) for node in nodes]
    try:
        start = aten.ones_like(output.detach())
        with no_grad():
            (gradient,) = dovetail_autograd.grad(
                output, tensor, start, retain_graph=True, allow_unused=True
            )
    finally:
        for handle in handles:
            handle.remove()
    return Replay("zero" if gradient is None else state_of([gradient]), steps, nodes)


def state_of(gradients: Sequence[Any]) -> str:
    """Return "nan" or "infinite" if one of `gradients` has such an element, "zero" if all are zero,
    else "ordinary".
    """
    largest = [size_of(gradient) for gradient in gradients if gradient is not None]
    if any([size != size for size in largest]):
        return "nan"
    if inf in largest:
        return "infinite"
    return "ordinary" if any(largest) else "zero"


def size_of(tensor: Tensor) -> float:
    """Return the largest absolute value in `tensor`: nan if there is one, 0 for an empty tensor."""
    return float(tensor.abs().max().item()) if tensor.numel() else 0.0


def _watcher(node: Node, leading: set[Node], steps: list[ReplayStep]) -> Callable[..., None]:
    ways = [index for index, edge in enumerate(node.next_functions) if edge.function in leading]

    def watch(returned: Sequence[object], given: Sequence[object]) -> None:
        before, after = state_of(given), state_of([returned[index] for index in ways])
        spoilt = after in ("nan", "infinite") and before in ("ordinary", "zero")
        vanished = after == "zero" and before == "ordinary"
        steps.append(ReplayStep(node, after if spoilt or vanished else ""))

    return watch


def _leading_to(tensor: Tensor, nodes: Sequence[Node]) -> list[Node]:
    """Return those of `nodes`, every one after all that lead to it, from which a path leads to
    `tensor`.
    """
    target = get_gradient_edge(tensor).node
    leading = {target}
    readers: dict[Node, list[Node]] = {}
    for node in nodes:
        for edge in node.next_functions:
            if edge.function is not None:
                readers.setdefault(edge.function, []).append(node)
    pending = [target]
    while pending:
        for node in readers.get(pending.pop(), ()):
            if node not in leading:
                leading.add(node)
                pending.append(node)
    return [node for node in nodes if node in leading]
