"""Routes of calls that have no derivative: their results raise in backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dovetail_dispatcher.calls.plan import RoutePlan, Step, Value, argument_value
from dovetail_dispatcher.calls.templates.arguments import is_tensor_like
from dovetail_dispatcher.table.operator import Operator
from dovetail_kernel.tensor.tensor_base import TensorBase
from dovetail_kernel.types.signature import GRAD

from ..graph.function_node import DIFFERENTIABLE
from ..graph.views import rebase_history
from .edges import edge_of
from .error_nodes import NotImplementedNode
from .write_steps import guarding_writes

if TYPE_CHECKING:
    from dovetail_dispatcher.calls.printer import Printer

_fallback_mode = "error"


def _set_autograd_fallback_mode(mode: str) -> None:
    """Choose what becomes of calls that have no derivative.

    Parameters
    ----------
    mode
        ``'error'``: backward raises. ``'warn'``: backward warns and gives no gradient.
        ``'nothing'``: results do not require grad. Default at import: ``'error'``.

    Raises
    ------
    ValueError
        For another mode.
    """
    global _fallback_mode
    if mode not in ("error", "warn", "nothing"):
        raise ValueError(f"mode must be 'error', 'warn' or 'nothing', but got {mode!r}.")
    _fallback_mode = mode


def _get_autograd_fallback_mode() -> str:
    """Return what becomes of calls that have no derivative."""
    return _fallback_mode


def unknown_plan(below: RoutePlan) -> RoutePlan:
    """Return the plan of an operator without formula: its results raise in backward unless they
    have a graph already.
    """
    op = below.op
    arguments = op.schema.arguments
    tensors = tuple([argument_value(a) for a in arguments if is_tensor_like(a) and not a.is_out])
    outs = tuple([argument_value(a) for a in arguments if a.is_out])
    if outs:
        return below.beginning_with(RefuseOut(op, (*tensors, *outs)))
    is_written = any([a.is_write for a in arguments])
    plan = guarding_writes(below) if is_written else below
    if not below.results:
        return plan
    return plan.ending_with(MarkUnknown(op, tensors, below.results, is_written))


class RefuseOut(Step):
    """Refuse arguments that require grad beside ``out=``."""

    op: Operator
    tensors: tuple[Value, ...]

    def print(self, to: Printer) -> None:
        refuse, op = to.bind("refuse_out", _refuse_out), to.bind("OPERATOR", self.op)
        to.add(f"{refuse}({op}, [{', '.join([to.name(each) for each in self.tensors])}])")


class MarkUnknown(Step):
    """Make a node that raises the maker of the results."""

    op: Operator
    arguments: tuple[Value, ...]
    results: tuple[Value, ...]
    is_written: bool

    def print(self, to: Printer) -> None:
        mark, op = to.bind("mark_unknown", _mark_unknown), to.bind("OPERATOR", self.op)
        arguments = ", ".join([to.name(each) for each in self.arguments])
        results = ", ".join([to.name(each) for each in self.results])
        to.add(f"{mark}({op}, [{arguments}], [{results}], {self.is_written})")


def _refuse_out(op: Operator, tensors: Sequence[Any]) -> None:
    for tensor in tensors:
        if edge_of(tensor) is not None:
            raise RuntimeError(
                f"{op.base_name}(): functions with out=... arguments don't support automatic "
                "differentiation, "
                "but one of the "
                "arguments requires grad. Leave out out=, or do it in a no_grad() block."
            )


def _mark_unknown(op: Operator, arguments: list[Any], results: list[Any], written: bool) -> None:
    if _fallback_mode == "nothing":
        return
    flat = [
        each
        for result in results
        for each in (result if isinstance(result, (list, tuple)) else [result])
    ]
    made = [
        each
        for each in flat
        if isinstance(each, TensorBase)
        and each._signature & DIFFERENTIABLE
        and (
            written
            or (not each._signature & GRAD and not any(each is argument for argument in arguments))
        )
    ]
    if not made:
        return
    name = f"{op.name.replace('::', '.')}.{op.overload or 'default'}"
    node = NotImplementedNode(
        name, arguments, made, op.qualified_name if _fallback_mode == "warn" else None
    )
    if not node.next_edges:
        return
    for output_nr, result in enumerate(made):
        if written:
            rebase_history(result, node, output_nr)
        else:
            result._grad_fn = node
            result.output_nr = output_nr
            result._signature |= GRAD
