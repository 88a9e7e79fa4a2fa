"""GraphRoot: the node that a run begins with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dovetail_kernel import TensorBase

from ...graph.node import EdgeTuple, Node


class GraphRoot(Node):
    """Leads to the roots of a run, and returns the gradients that it begins with there.

    It also stands for the caller of the engine where a message names the node that a gradient came
    from.

    Parameters
    ----------
    edges
        The edges of what is differentiated.
    inputs
        The gradient at each.
    """

    __slots__ = ("inputs",)

    def __init__(
        self, edges: Sequence[EdgeTuple] = (), inputs: Sequence[TensorBase | None] = ()
    ) -> None:
        self.next_edges = tuple(edges)
        self.inputs = tuple(inputs)
        self.sequence_nr = 0
        self.input_metadata = []
        self._array_backend = None
        self._node_hooks = None

    def name(self) -> str:
        return "GraphRoot"

    def apply_tensors(self, *grads: TensorBase | None) -> Sequence[TensorBase | None]:
        """Return the gradients that the run begins with."""
        return self.inputs


GRAPH_ROOT: Final = GraphRoot()
