"""Recording a node: the one description that derived, user-written and fused recordings share.

A route that records ends with a `RecordNode` step. Its class, its edges and what is put on it
differ; how a node comes into being does not. For `mul` on two tensors it prints::

    node = result._grad_fn = Node()
    node.next_edges = (self_edge, other_edge, )
    node.sequence_nr = next_sequence_nr()
    node._array_backend = BACKEND
    node._node_hooks = None
    node.input_metadata = (array.shape, array.dtype)
    ...
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Final

from dovetail_dispatcher.calls import Expression, Operand, Printer, Step, Value
from dovetail_kernel import Backend, TensorBase
from dovetail_kernel.signature import DTYPE_MASK, GRAD

from ..graph.function_node import DIFFERENTIABLE
from ..graph.node import Node, next_sequence_nr
from ..graph.saved_extras import recorded, recording_extras
from ..graph.views import rebase_history
from .edges import Edge, any_edge

NODE: Final = Value("node")
"""The node, in the steps that fill it."""


class RecordNode(Step):
    """Make a node, and fill it.

    Attributes
    ----------
    node_class
        Class of the node.
    edges
        Where its gradients go.
    parts
        The steps that fill it, and put it on the results.
    backend
        Whose arrays its body takes in the engine's loop over arrays; None: it takes tensors.
    uncast
        Arrays that the operands were promoted to, with the operands: the body takes arrays where
        nothing was cast.
    makes
        Results that it is the maker of in any case.
    if_any
        Edges of which there must be one; none: the call is recorded in any case.
    if_differentiable
        A tensor that must be of a dtype that has gradients; None: no such condition.
    numbers
        Slots that are given a sequence number, lowest first.
    """

    node_class: type[Node]
    edges: tuple[Edge, ...]
    parts: tuple[Step, ...]
    backend: Backend | None = None
    uncast: tuple[tuple[Value, Value], ...] = ()
    makes: tuple[Value, ...] = ()
    if_any: tuple[Edge, ...] = ()
    if_differentiable: Value | None = None
    numbers: tuple[str, ...] = ("sequence_nr",)

    def print(self, to: Printer) -> None:
        with to.block(f"if {any_edge(self.if_any, to)}:") if self.if_any else nullcontext():
            if self.if_differentiable is None:
                self._print_node(to)
                return
            name, bits = to.name(self.if_differentiable), bind_differentiable(to)
            with to.block(f"if {name}._signature & {bits}:"):
                self._print_node(to)

    def _print_node(self, to: Printer) -> None:
        node = to.name(NODE)
        makes = "".join([f"{to.name(result)}._grad_fn = " for result in self.makes])
        edges = "".join([f"{edge.item(to)}, " for edge in self.edges])
        to.extend(
            (
                f"{node} = {makes}{to.bind('Node', self.node_class)}()",
                f"{node}.next_edges = ({edges})",
            )
        )
        next_number = to.bind("next_sequence_nr", next_sequence_nr)
        to.extend([f"{node}.{slot} = {next_number}()" for slot in self.numbers])
        if self.backend is None:
            to.add(f"{node}._array_backend = {node}._node_hooks = None")
        else:
            backend = to.bind("BACKEND", self.backend)
            if self.uncast:
                same = [f"{to.name(a)} is {to.name(tensor)}.array" for a, tensor in self.uncast]
                backend = f"{backend} if {' and '.join(same)} else None"
            to.add(f"{node}._array_backend = {backend}")
            to.add(f"{node}._node_hooks = None")
        to.print(self.parts)


# -- the results -----------------------------------------------------------------------------------


class DescribeResults(Step):
    """Record the shapes and dtypes of the results, which the incoming gradients must have."""

    arrays: tuple[Operand, ...]

    def print(self, to: Printer) -> None:
        arrays = [each.text(to) for each in self.arrays]
        described = [f"({array}.shape, {array}.dtype)" for array in arrays]
        metadata = described[0] if len(described) == 1 else f"[{', '.join(described)}]"
        to.add(f"{to.name(NODE)}.input_metadata = {metadata}")


class AttachResult(Step):
    """Set the node as the `grad_fn` of a result, if its dtype is differentiable.

    Attributes
    ----------
    output_nr
        Which of the results it is; None: the tensor has that number already.
    """

    result: Value
    output_nr: int | None

    def print(self, to: Printer) -> None:
        result = to.name(self.result)
        with to.block(f"if {result}._signature & {bind_differentiable(to)}:"):
            to.add(f"{result}._grad_fn = {to.name(NODE)}")
            if self.output_nr is not None:
                to.add(f"{result}.output_nr = {self.output_nr}")
            to.add(f"{result}._signature |= {to.bind('GRAD', GRAD)}")


class AttachList(Step):
    """Describe every tensor of a list, and set the node as its `grad_fn`.

    Attributes
    ----------
    may_be_none
        Whether results may have been masked out.
    flags
        Which results have gradients; None: all of them.
    """

    results: Operand
    may_be_none: bool
    flags: tuple[bool, ...] | None = None

    def print(self, to: Printer) -> None:
        node, results, each = to.name(NODE), self.results.text(to), to.scratch("each")
        flags = ""
        if self.flags is not None:
            # As in PyTorch, those behind the last one are not even undefined gradients.
            count = len(self.flags) - self.flags[::-1].index(True)
            results, flags = f"{results}[:{count}]", f", {self.flags[:count]}"
        metadata = f"({each}.array.shape, {each}.array.dtype)"
        if self.may_be_none:
            metadata = f"None if {each} is None else {metadata}"
        attach, bits = to.bind("attach_list", attach_list), bind_differentiable(to)
        to.add(f"{node}.input_metadata = [{metadata} for {each} in {results}]")
        to.add(f"{attach}({results}, {node}, {bits}{flags})")


class TupleOf(Expression):
    """Several values as one."""

    values: tuple[Value, ...]

    def text(self, to: Printer) -> str:
        return f"({', '.join([to.name(value) for value in self.values])})"


class RebaseHistory(Step):
    """Set the node as the `grad_fn` of a written tensor and of its bases."""

    written: Value

    def print(self, to: Printer) -> None:
        rebase = to.bind("rebase_history", rebase_history)
        to.add(f"{rebase}({to.name(self.written)}, {to.name(NODE)})")


class HandleExtras(Step):
    """Apply saved-tensor hooks and anomaly mode."""

    def print(self, to: Printer) -> None:
        extras = to.scratch("extras")
        to.extend(
            (
                f"{extras} = {to.bind('recording_extras', recording_extras)}()",
                f"if {extras} is not None:",
                f"    {to.bind('recorded', recorded)}({to.name(NODE)}, {extras})",
            )
        )


def bind_differentiable(to: Printer) -> str:
    """Return the name of the bits of dtypes that have gradients."""
    return to.bind("DIFFERENTIABLE", DIFFERENTIABLE & DTYPE_MASK)


def attach_list(
    results: Sequence[TensorBase | None],
    node: Node,
    differentiable: int,
    flags: tuple[bool, ...] | None = None,
) -> None:
    """Make `node` the maker of every result of differentiable dtype, of those that `flags` names
    if it is given.
    """
    for output_nr, result in enumerate(results):
        if flags is not None and not flags[output_nr]:
            continue
        if result is not None and result._signature & DTYPE_MASK & differentiable:
            result._grad_fn = node
            result.output_nr = output_nr
            result._signature |= GRAD
