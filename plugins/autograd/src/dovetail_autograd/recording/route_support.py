"""What recording routes call off the common path: edges, clones of what is about to be written,
lists of results.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

from dovetail_kernel.keys.interception import PYTHON_DISPATCH
from dovetail_kernel.tensor.new_tensors import wrap
from dovetail_kernel.tensor.tensor_base import TensorBase
from dovetail_kernel.types.signature import DTYPE_MASK, GRAD

from ..graph import engine_ops as calls
from ..graph.autograd_meta import gradient_edge
from ..graph.node import EdgeTuple, Node, next_sequence_nr
from ..graph.views import mark_view


def edge_of(value: Any) -> EdgeTuple | None:
    """Return the gradient edge of an argument that may also be None or a Python number."""
    return gradient_edge(value) if isinstance(value, TensorBase) else None


def edges_of(values: Sequence[Any] | None) -> tuple[EdgeTuple | None, ...]:
    """Return the gradient edges of a list of tensors."""
    return tuple([edge_of(value) for value in values]) if values else ()


def copy_before_write(tensor: TensorBase) -> TensorBase:
    """Return a copy of `tensor` with the same place in the graph, for a formula that needs what is
    overwritten.
    """
    is_wrapped = tensor._signature & PYTHON_DISPATCH
    twin = calls.clone(tensor) if is_wrapped else wrap(tensor.array.copy(), tensor._backend)
    edge = gradient_edge(tensor)
    if edge is not None:
        twin._grad_fn, twin.output_nr = edge[0].presented(), edge[1]
        twin._signature |= GRAD
    return twin


def attach_list(results: Sequence[TensorBase | None], node: Node, differentiable: int) -> None:
    """Make `node` the maker of every result of differentiable dtype."""
    for output_nr, result in enumerate(results):
        if result is not None and result._signature & DTYPE_MASK & differentiable:
            result._grad_fn = node
            result.output_nr = output_nr
            result._signature |= GRAD


def mark_views(results: Sequence[TensorBase], source: TensorBase) -> None:
    """Note that every result is a view of `source`."""
    for result in results:
        mark_view(result, source, several=True)


class NotImplementedNode(Node):
    """Node of a call that nobody knows how to differentiate."""

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
            warnings.warn(
                f"{self.warned_name}: an autograd kernel was not registered to the Autograd "
                "key(s) but we are trying "
                "to backprop through it. This may lead to silently incorrect behavior. Please use "
                "register_autograd "
                "to add a formula.",
                UserWarning,
                stacklevel=2,
            )
            return [None] * len(self.next_edges)
        raise RuntimeError(
            f"Trying to backward through {self.operator} but no autograd formula was registered. "
            "Please use "
            "register_autograd to add one."
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
