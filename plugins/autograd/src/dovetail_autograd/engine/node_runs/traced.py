"""Running nodes while operator calls are traced: each node is a span, with the calls of its formula
inside.
"""

from __future__ import annotations

from collections.abc import Sequence

from dovetail_dispatcher.inspection import record_node
from dovetail_kernel import TensorBase

from ...graph.accumulate import AccumulateGrad
from ...graph.node import Node
from ..tasks.graph_task import GraphTask
from .evaluate import evaluate, run_leaf


def traced_evaluate(
    task: GraphTask, node: Node, grads: list[TensorBase | None]
) -> Sequence[TensorBase | None]:
    """Run `node`, as `evaluate` does, and record it."""
    returned: Sequence[TensorBase | None] = record_node(
        node.name(), grads, evaluate, task, node, grads
    )
    return returned


def traced_run_leaf(task: GraphTask, node: AccumulateGrad, grads: list[TensorBase | None]) -> None:
    """Bring a complete gradient, or none, to a leaf, as `run_leaf` does, and record it."""
    record_node(node.name(), grads, run_leaf, task, node, grads)
