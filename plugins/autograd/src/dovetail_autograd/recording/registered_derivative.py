"""Recording routes of operators whose derivative a user wrote with `register_autograd`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dovetail_dispatcher import FunctionSchema
from dovetail_dispatcher.calls import (
    Composition,
    Expression,
    InState,
    Operand,
    Printer,
    RoutePlan,
    Step,
    Value,
    argument_value,
    tensors_among,
)
from dovetail_dispatcher.table import PythonFormula
from dovetail_kernel import set_state, state
from dovetail_kernel.keys import below_autograd, inside_recorded
from dovetail_kernel.signature import NO_GRAD, VIEW, WRAPPED_BIT

from ..graph.saved_extras import needs_extras
from ..graph.views import CreationMeta, view_meta
from .edges import Edge, any_edge, find_edge
from .record_node import NODE, AttachResult, RecordNode, TupleOf
from .registered_nodes import node_class, unmark

_TENSORS: Final = Value("tensors")
"""The tensors among the results of a call, where there may be others or lists."""


def registered_plan(
    composition: Composition, formula: PythonFormula, below: RoutePlan
) -> RoutePlan:
    """Return the plan that runs `below` under Autograd and records a node of `formula`."""
    schema = composition.op.schema
    cls = node_class(formula, schema)
    inputs = [a for a in schema.arguments if a.is_tensor_like and not a.kwarg_only]
    found = [find_edge(a, composition.key) for a in inputs]
    edges = tuple([each.edge for each in found])
    # A view that may require grad need not do so; any other tensor of a call that is recorded does.
    is_sure = not composition.key & VIEW
    computed: Step
    if composition.key & WRAPPED_BIT:
        # The physical calls are not those that this node stands for: they may be recorded as well.
        computed = InState(below.steps, below_autograd)
    elif is_sure:
        computed = InState(below.steps, inside_recorded)
    else:
        computed = InsideRecorded(below.steps, inside_recorded, edges)
    if not schema.returns:
        return below.replaced(steps=(computed,) if is_sure else (*found, computed))
    output = below.results[0] if len(below.results) == 1 else TupleOf(below.results)
    tensors: Operand
    attach: list[Step]
    if cls.returns_one_tensor:
        result = tensors = below.results[0]
        attach = [DescribeResult(result), AttachResult(result, 0)]
    else:
        tensors = Unpacked(_TENSORS)
        lists = tuple([edge for edge in edges if edge.is_list])
        attach = [NoteLengths(lists)] if lists else []
        attach.append(AttachResults(output))
    if schema._is_view_op():
        attach.append(NoteCustomViews(output))
    node = RecordNode(
        cls, edges, (*attach, *_set_up(formula, schema, output, tensors)), if_any=edges
    )
    return below.replaced(steps=(*found, computed, node))


def _set_up(
    formula: PythonFormula, schema: FunctionSchema, output: Operand, tensors: Operand
) -> list[Step]:
    """Return the steps that let the user set up the context, and keep what was saved there."""
    if formula.setup_context is None:
        return [KeepSaved(tensors, True)] if needs_extras() else []
    arguments = tuple([argument_value(a) for a in schema.arguments if not a.kwarg_only])
    keywords = tuple([(a.name, argument_value(a)) for a in schema.arguments if a.kwarg_only])
    return [
        SetUpContext(formula.setup_context, arguments, keywords, output, tensors),
        KeepSaved(tensors, needs_extras()),
    ]


class InsideRecorded(InState):
    """Run steps below Autograd, with grad mode off if there is one of several edges."""

    edges: tuple[Edge, ...]

    def chosen(self, to: Printer) -> str:
        recorded = to.bind("inside_recorded", self.transition)
        below = to.bind("below", below_autograd)
        return f"({recorded} if {any_edge(self.edges, to)} else {below})"


class Unpacked(Expression):
    """All items of a value."""

    value: Value

    def text(self, to: Printer) -> str:
        return f"*{to.name(self.value)}"


class DescribeResult(Step):
    """Record the shape, dtype and device of the only result."""

    result: Value

    def print(self, to: Printer) -> None:
        node, result, array = to.name(NODE), to.name(self.result), to.scratch("array")
        to.extend(
            (
                f"{array} = {result}.array",
                f"{node}.input_metadata = ({array}.shape, {array}.dtype)",
                f"{node}._made = ({result}._signature,)",
            )
        )


class AttachResults(Step):
    """Set the node as the `grad_fn` of all tensors among the results."""

    output: Operand

    def print(self, to: Printer) -> None:
        attach = f"{to.name(NODE)}.attach_results({self.output.text(to)})"
        to.add(f"{to.name(_TENSORS)} = {attach}")


class NoteLengths(Step):
    """Record the lengths of tensor lists among the arguments."""

    edges: tuple[Edge, ...]

    def print(self, to: Printer) -> None:
        length = to.builtin("len")
        lengths = "".join([f"{length}({to.name(edge.value)}), " for edge in self.edges])
        to.add(f"{to.name(NODE)}.list_lengths = ({lengths})")


class NoteCustomViews(Step):
    """Mark results that are views with a custom derivative; a write in place would override it."""

    output: Operand

    def print(self, to: Printer) -> None:
        to.add(f"{to.bind('note_custom_views', note_custom_views)}({self.output.text(to)})")


def note_custom_views(output: object) -> None:
    """Raise an error for writes in place, in grad mode, to views among the results of a call."""
    for tensor in tensors_among([output]):
        info = view_meta(tensor)
        if info is not None:
            info.creation_meta = CreationMeta.IN_CUSTOM_FUNCTION


class SetUpContext(Step):
    """Call the user's `setup_context`, and detach the results that it marks."""

    setup_context: Callable[..., None]
    arguments: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]
    output: Operand
    tensors: Operand

    def print(self, to: Printer) -> None:
        node, outer = to.name(NODE), to.scratch("outer")
        set_to = to.bind("set_state", set_state)
        inputs = "".join([f"{to.name(each)}, " for each in self.arguments])
        given = f"ctx={node}, inputs=({inputs}), output={self.output.text(to)}"
        if self.keywords:
            keywords = ", ".join([f"{name!r}: {to.name(each)}" for name, each in self.keywords])
            given += f", keyword_only_inputs={{{keywords}}}"
        to.add(f"{outer} = {to.bind('state', state)}()")
        with to.block("try:"):
            to.add(f"{set_to}({outer} | {to.bind('NO_GRAD', NO_GRAD)})")
            to.add(f"{to.bind('setup_context', self.setup_context)}({given})")
        with to.block("finally:"):
            to.add(f"{set_to}({outer})")
        to.add(f"if {node}.non_differentiable is not None:")
        to.add(f"    {to.bind('unmark', unmark)}({node}, {self.tensors.text(to)})")


class KeepSaved(Step):
    """Store the tensors that the user saved.

    Attributes
    ----------
    always
        Also where that is nothing: there may be hooks.
    """

    tensors: Operand
    always: bool

    def print(self, to: Printer) -> None:
        node = to.name(NODE)
        keep = f"{node}._keep_saved({self.tensors.text(to)})"
        to.add(keep if self.always else f"if {node}.to_save: {keep}")
