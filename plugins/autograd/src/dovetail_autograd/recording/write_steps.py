"""Steps around a write that is recorded, and around views: what is refused, copied and noted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_dispatcher import Operator
from dovetail_dispatcher.calls import (
    Composition,
    Printer,
    RoutePlan,
    Step,
    Value,
    WrapArray,
    WrapArrays,
    argument_value,
    tensors_among,
)
from dovetail_dispatcher.schema import TENSOR
from dovetail_kernel import TensorBase, wrap
from dovetail_kernel.keys import PYTHON_DISPATCH
from dovetail_kernel.signature import GRAD, NO_GRAD, VIEW

from ..graph import engine_ops as calls
from ..graph.autograd_meta import gradient_edge
from ..graph.views import (
    CreationMeta,
    DifferentiableViewMeta,
    check_inplace,
    mark_view,
    set_view,
    view_of,
)
from .edges import Edge, any_edge, edge_of


class RefuseGradient(Step):
    """Raise an error for an argument that requires grad but has no derivative."""

    op: Operator
    argument: Value

    def print(self, to: Printer) -> None:
        name, op = to.name(self.argument), to.bind("OPERATOR", self.op)
        refuse = to.bind("refuse_gradient", refuse_gradient)
        to.add(f"if {name} is not None: {refuse}({op}, {self.argument.name!r}, {name})")


class CheckInplace(Step):
    """Check an in-place write against the graph of the tensor.

    Attributes
    ----------
    edges
        Edges of which one says that an argument requires grad.
    is_recorded
        Whether an argument is known to require grad.
    has_own
        Whether the edge of the tensor is among them. Then a call without edges is allowed.
    """

    written: Value
    edges: tuple[Edge, ...] = ()
    is_recorded: bool = False
    has_own: bool = False

    def print(self, to: Printer) -> None:
        requires_grad = any_edge(self.edges, to) or str(self.is_recorded)
        check, written = to.bind("check_inplace", check_inplace), to.name(self.written)
        if self.has_own:
            to.add(f"if {requires_grad}: {check}({written}, True)")
        else:
            to.add(f"{check}({written}, {requires_grad})")


class CheckAllInplace(Step):
    """Check in-place writes against the graphs of several arguments: tensors, lists or None."""

    written: tuple[Value, ...]

    def print(self, to: Printer) -> None:
        names = ", ".join([to.name(each) for each in self.written])
        to.add(f"{to.bind('check_all_inplace', check_all_inplace)}({names})")


class CopyBeforeWrite(Step):
    """Save a copy of a tensor before a write, for a formula that needs it."""

    written: Value
    copy: Value

    def print(self, to: Printer) -> None:
        copy = to.bind("copy_before_write", copy_before_write)
        to.add(f"{to.name(self.copy)} = {copy}({to.name(self.written)})")


class MarkView(Step):
    """Mark a result, or each tensor of a list, as a view of an argument.

    Attributes
    ----------
    is_new
        The result is a tensor that the route has made, with the bits of a view in its signature:
        the rest of what `mark_view` does is written out.
    of_view
        Whether the argument is a view itself.
    creation
        How views come about in the state of the call; None: as the argument says.
    """

    result: Value
    source: Value
    is_new: bool
    of_view: bool
    creation: CreationMeta | None = None
    is_list: bool = False

    def print(self, to: Printer) -> None:
        result, source = to.name(self.result), to.name(self.source)
        if self.is_list:
            to.add(f"{to.bind('mark_views', mark_views)}({result}, {source})")
            return
        if not self.is_new:
            to.add(f"{to.bind('mark_view', mark_view)}({result}, {source})")
            return
        base, meta = source, to.scratch("meta")
        creation = self.creation or CreationMeta.DEFAULT
        created = to.bind(creation.name, creation)
        if self.of_view:
            viewed = to.scratch("viewed")
            base = f"{viewed}.base"
            created = f"{viewed}.creation_meta" if self.creation is None else created
            to.add(f"{viewed} = {source}._meta")
        to.extend(
            (
                f"{meta} = {result}._meta = "
                f"{to.bind('DifferentiableViewMeta', DifferentiableViewMeta)}()",
                f"{meta}.base = {base}",
                f"{meta}.creation_meta = {created}",
                f"{meta}.attr_version = {result}._counter.value",
            )
        )


# -- plans -----------------------------------------------------------------------------------------


def guarding_writes(plan: RoutePlan) -> RoutePlan:
    """Return `plan` with a check of every argument that it writes, except ``out=``."""
    written = [
        a for a in plan.op.schema.arguments if a.is_write and not a.is_out and a.is_tensor_like
    ]
    values = tuple([argument_value(a) for a in written])
    if [a.kind for a in written] == [TENSOR]:
        return plan.beginning_with(CheckInplace(values[0]))
    return plan.beginning_with(CheckAllInplace(values)) if values else plan


def marking_views(plan: RoutePlan, composition: Composition) -> RoutePlan:
    """Return the plan of a call with a note on every result whose view it is."""
    key = composition.key
    schema = plan.op.schema
    source = next(iter([a for a in schema.arguments if a.alias_info is not None]), None)
    if source is None or len(plan.results) != 1:
        return plan
    result, viewed = plan.results[0], argument_value(source)
    is_list = schema.returns[0].kind != TENSOR
    of_view = bool(key & VIEW)
    # Among several tensors it may be another that is a view.
    is_sure = not of_view or sum([a.is_tensor_like for a in schema.arguments]) == 1
    is_new = is_sure and any([_wraps_view(step, result) for step in plan.steps])
    if is_new:
        steps = [_signed(step) if _wraps_view(step, result) else step for step in plan.steps]
        plan = plan.replaced(steps=tuple(steps))
    # Routes are found by the state as well, so that it is known here.
    creation = CreationMeta.MULTI_OUTPUT_NODE if is_list else None
    creation = CreationMeta.NO_GRAD_MODE if key & NO_GRAD else creation
    if composition.state.inference:
        creation = CreationMeta.INFERENCE_MODE
    return plan.ending_with(MarkView(result, viewed, is_new, of_view, creation, is_list))


def _wraps_view(step: Step, result: Value) -> bool:
    wrap = step.each if isinstance(step, WrapArrays) else step
    return isinstance(wrap, WrapArray) and wrap.result == result and wrap.shared is not None


def _signed(step: Any) -> Step:
    """Return a step that makes tensors as one that makes views."""
    if isinstance(step, WrapArrays):
        return step.replaced(each=_signed(step.each))
    signature = step.signature.replaced(base=step.signature.base | GRAD | VIEW)
    signed: Step = step.replaced(signature=signature)
    return signed


# -- what routes call ------------------------------------------------------------------------------


def refuse_gradient(op: Operator, name: str, tensor: TensorBase) -> None:
    """Raise an error for an argument that requires grad.

    Raises
    ------
    RuntimeError
        Naming the argument.
    """
    if edge_of(tensor) is not None:
        raise not_differentiable(op, name, "requires_grad True")


def not_differentiable(op: Operator, name: str, what: str) -> RuntimeError:
    """Return the error for an argument by which an operator has no derivative, but which has
    `what`.
    """
    return RuntimeError(
        f"The function '{op.base_name}' is not differentiable with respect to argument '{name}'. "
        f"This input cannot have {what}. Give {name}.detach()."
    )


def check_all_inplace(*written: TensorBase | Sequence[TensorBase | None] | None) -> None:
    """Raise an error for in-place writes that the graphs of these tensors do not allow, like
    `check_inplace`.
    """
    for tensor in tensors_among(written):
        check_inplace(tensor, False)


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


def mark_views(results: Sequence[TensorBase], source: TensorBase) -> None:
    """Note that every result is a view of `source`."""
    base, creation = view_of(source, several=True)
    for result in results:
        set_view(result, base, creation)
