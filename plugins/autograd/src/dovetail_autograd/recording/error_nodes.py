"""Nodes that raise when backward reaches them: of calls without derivative, and of tensors that may
not be differentiated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from dovetail_dispatcher.table import registry
from dovetail_kernel import TensorBase, is_grad_enabled, warn_user
from dovetail_kernel.signature import GRAD

from ..graph.autograd_meta import gradient_edge
from ..graph.node import EdgeTuple, Node, next_sequence_nr
from .edges import edge_of, edges_of
from .function_outputs import alias_of


class NotImplementedNode(Node):
    """Node of a call that has no derivative."""

    __slots__ = ("operator", "warned_name")

    def __init__(
        self,
        operator: str,
        arguments: Sequence[object],
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


class _OfTensors(Node):
    """Node behind tensors that exist already, with edges to others."""

    __slots__ = ()

    def __init__(self, inputs: Sequence[TensorBase], outputs: Sequence[TensorBase]) -> None:
        self.next_edges = tuple([gradient_edge(tensor) for tensor in inputs])
        self.sequence_nr = next_sequence_nr()
        self.input_metadata = [
            (tuple(output.array.shape), output.array.dtype) for output in outputs
        ]
        self._array_backend = None
        self._node_hooks = None

    def name(self) -> str:
        return f"dovetail::autograd::{type(self).__name__}"


class Error(_OfTensors):
    """Node of tensors that may be used but not differentiated."""

    __slots__ = ("message",)

    def __init__(
        self, message: str, inputs: Sequence[TensorBase], outputs: Sequence[TensorBase]
    ) -> None:
        super().__init__(inputs, outputs)
        self.message = message

    def apply_tensors(self, *grads: TensorBase | None) -> NoReturn:
        """Raise."""
        raise RuntimeError(self.message)


class UndefinedGradBackward(_OfTensors):
    """Node of a tensor behind which no gradient goes on."""

    __slots__ = ()

    def apply_tensors(self, *grads: TensorBase | None) -> list[None]:
        """Return no gradient for any input."""
        return [None] * len(self.next_edges)


def attach(node: Node, outputs: Sequence[object]) -> list[Any]:
    """Return the outputs with aliases of the tensors among them, which `node` made."""
    attached: list[Any] = []
    output_nr = 0
    for output in outputs:
        if isinstance(output, TensorBase):
            output = alias_of(output)
            output._grad_fn = node
            output.output_nr = output_nr
            output._signature |= GRAD
            output_nr += 1
        attached.append(output)
    return attached


class _FunctionOfTensors:
    """A function that gives tensors another node; a tensor that does not require grad stays as it
    is.
    """

    def __init__(self, count: int) -> None:
        self._count = count

    def _node(self, inputs: Sequence[TensorBase]) -> Node:
        raise NotImplementedError

    def __call__(self, *tensors: TensorBase) -> Any:
        """Return aliases of `tensors`: one, or a tuple. Raises TypeError if there are more or fewer
        than announced, or one is not a tensor.
        """
        if len(tensors) != self._count:
            raise TypeError(
                f"expected {self._count} arguments, got {len(tensors)} instead. Give as many "
                "tensors as announced."
            )
        for index, tensor in enumerate(tensors):
            if not isinstance(tensor, TensorBase):
                raise TypeError(
                    f"argument {index} is not a Variable, but {type(tensor).__name__}. Give a "
                    "tensor."
                )
        made = (
            attach(self._node(tensors), tensors)
            if is_grad_enabled() and any([tensor.requires_grad for tensor in tensors])
            else [alias_of(tensor) for tensor in tensors]
        )
        return made[0] if len(made) == 1 else tuple(made)


class DelayedError(_FunctionOfTensors):
    """Function whose results raise an error when they are differentiated.

    Parameters
    ----------
    msg
        Text of the RuntimeError.
    num_inputs
        Number of tensors that the function takes.

    Raises
    ------
    RuntimeError
        For arguments of other types.
    """

    def __init__(self, msg: str | bytes, num_inputs: int) -> None:
        if not isinstance(msg, str | bytes):
            raise RuntimeError(
                f"argument 'msg' must be a string, not {type(msg).__name__}. Give the text of the "
                "error."
            )
        if not isinstance(num_inputs, int):
            raise RuntimeError(
                f"argument 'num_inputs' must be an int, not {type(num_inputs).__name__}. Give the "
                "number of tensors."
            )
        super().__init__(num_inputs)
        self._message = msg.decode() if isinstance(msg, bytes) else msg

    def _node(self, inputs: Sequence[TensorBase]) -> Node:
        return Error(self._message, inputs, inputs)


class UndefinedGrad(_FunctionOfTensors):
    """Function of one tensor that stops gradients."""

    def __init__(self) -> None:
        super().__init__(1)

    def _node(self, inputs: Sequence[TensorBase]) -> Node:
        return UndefinedGradBackward(inputs, inputs)
