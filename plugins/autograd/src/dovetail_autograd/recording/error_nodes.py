"""Nodes that raise when backward reaches them: of calls without derivative, and of tensors that may
not be differentiated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from dovetail_dispatcher.table import registry
from dovetail_kernel import TensorBase, warn_user

from ..graph.autograd_meta import gradient_edge
from ..graph.node import EdgeTuple, Node, next_sequence_nr
from .edges import edge_of, edges_of


class NotImplementedNode(Node):
    """Node of a call that has no derivative."""

    __slots__ = ("operator", "warned_name")

    def __init__(
        self,
        operator: str,
        arguments: Sequence[Any],
        results: Sequence[TensorBase],
        warned_name: str | None = None,
    ) -> None:
        edges: list[EdgeTuple | None] = []
        for argument in arguments:
            edges.extend(
                edges_of(argument) if isinstance(argument, (list, tuple)) else [edge_of(argument)]
            )
        self.operator = operator
        self.warned_name = warned_name
        self.next_edges = tuple([edge for edge in edges if edge is not None])
        self.sequence_nr = next_sequence_nr()
        self.input_metadata = [
            (tuple(result.array.shape), result.array.dtype) for result in results
        ]
        self._array_backend = None
        self._node_hooks = None

    def apply_tensors(self, *grads: TensorBase | None) -> list[None]:
        """Say what is missing: as a warning, if there is a name to warn of, else as an error."""
        if self.warned_name is not None:
            warn_user(
                f"{self.warned_name}: an autograd kernel was not registered to the Autograd "
                "key(s) but we are trying "
                "to backprop through it. This may lead to silently incorrect behavior. Please use "
                "register_autograd "
                "to add a formula."
            )
            return [None] * len(self.next_edges)
        remedy = registry.without_derivatives.get(
            self.operator.partition(".")[0], "Please use register_autograd to add one."
        )
        raise RuntimeError(
            f"Trying to backward through {self.operator} but no autograd formula was registered. "
            f"{remedy}"
        )


class DelayedError(Node):
    """Node of tensors that may be used but not differentiated."""

    __slots__ = ("message",)

    def __init__(
        self, message: str, inputs: Sequence[TensorBase], outputs: Sequence[TensorBase]
    ) -> None:
        self.message = message
        self.next_edges = tuple([gradient_edge(tensor) for tensor in inputs])
        self.sequence_nr = next_sequence_nr()
        self.input_metadata = [
            (tuple(output.array.shape), output.array.dtype) for output in outputs
        ]
        self._array_backend = None
        self._node_hooks = None

    def apply_tensors(self, *grads: TensorBase | None) -> NoReturn:
        """Raise."""
        raise RuntimeError(self.message)
