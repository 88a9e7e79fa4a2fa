"""Routes of calls that have no derivative: their results raise in backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dovetail_dispatcher import Operator
from dovetail_dispatcher.calls import Printer, RoutePlan, Step, Value, argument_value, tensors_among
from dovetail_kernel import TensorBase
from dovetail_kernel.signature import GRAD

from ..graph.function_node import DIFFERENTIABLE
from ..graph.node import Node
from ..graph.views import check_inplace, rebase_history
from .edges import edge_of
from .error_nodes import NotImplementedNode

_fallback_mode = "error"

_MAKERS: Final = Value("makers")
"""The tensors that a call writes, each with the node that made it before."""


def _set_autograd_fallback_mode(mode: str) -> None:
    """Set the mode for calls without a derivative.

    Parameters
    ----------
    mode
        ``'error'``: backward raises. ``'warn'``: backward warns and gives no gradient.
        ``'nothing'``: results do not require grad. Default at import: ``'error'``.

    Raises
    ------
    ValueError
        For any other mode.
    """
    global _fallback_mode
    if mode not in ("error", "warn", "nothing"):
        raise ValueError(f"mode must be 'error', 'warn' or 'nothing', but got {mode!r}.")
    _fallback_mode = mode


def _get_autograd_fallback_mode() -> str:
    """Return the mode for calls without a derivative."""
    return _fallback_mode


def unknown_plan(below: RoutePlan) -> RoutePlan:
    """Return the plan of an operator without formula: its results raise in backward unless they
    have a graph already.
    """
    op = below.op
    arguments = op.schema.arguments
    tensors = tuple([argument_value(a) for a in arguments if a.is_tensor_like and not a.is_out])
    outs = tuple([argument_value(a) for a in arguments if a.is_out])
    if outs:
        return below.beginning_with(RefuseOut(op, (*tensors, *outs)))
    written = tuple([argument_value(a) for a in arguments if a.is_write and a.is_tensor_like])
    if written:
        plan = below.beginning_with(CheckWrites(op, written))
        return plan.ending_with(MarkUnknown(op, tensors, below.results, True))
    return below.ending_with(MarkUnknown(op, tensors, below.results)) if below.results else below


class RefuseOut(Step):
    """Raise an error for arguments that require grad with ``out=``."""

    op: Operator
    tensors: tuple[Value, ...]

    def print(self, to: Printer) -> None:
        refuse, op = to.bind("refuse_out", _refuse_out), to.bind("OPERATOR", self.op)
        to.add(f"{refuse}({op}, [{', '.join([to.name(each) for each in self.tensors])}])")


class CheckWrites(Step):
    """Check writes against the graphs of the arguments, and record these graphs."""

    op: Operator
    written: tuple[Value, ...]

    def print(self, to: Printer) -> None:
        check, op = to.bind("check_writes", _check_writes), to.bind("OPERATOR", self.op)
        written = ", ".join([to.name(each) for each in self.written])
        to.add(f"{to.name(_MAKERS)} = {check}({op}, [{written}])")


class MarkUnknown(Step):
    """Set a node that raises as the `grad_fn` of the results and of written tensors."""

    op: Operator
    arguments: tuple[Value, ...]
    results: tuple[Value, ...]
    writes: bool = False

    def print(self, to: Printer) -> None:
        mark, op = to.bind("mark_unknown", _mark_unknown), to.bind("OPERATOR", self.op)
        arguments = ", ".join([to.name(each) for each in self.arguments])
        results = ", ".join([to.name(each) for each in self.results])
        makers = f", {to.name(_MAKERS)}" if self.writes else ""
        to.add(f"{mark}({op}, [{arguments}], [{results}]{makers})")


def _refuse_out(op: Operator, tensors: Sequence[object]) -> None:
    for tensor in tensors_among(tensors):
        if edge_of(tensor) is not None:
            raise RuntimeError(
                f"{op.base_name}(): functions with out=... arguments don't support automatic "
                "differentiation, "
                "but one of the "
                "arguments requires grad. Leave out out=, or do it in a no_grad() block."
            )


def _check_writes(op: Operator, written: Sequence[object]) -> list[tuple[TensorBase, Node | None]]:
    """Check writes of arguments; return the tensors that will be written, and what made them."""
    tensors = list(tensors_among(written))
    for tensor in tensors:
        try:
            check_inplace(tensor, False)
        except RuntimeError as error:
            raise RuntimeError(
                f"{error} The operator {op.qualified_name} has no derivative: if this write is "
                "never to be recorded, say so once, with "
                f"impl({op.qualified_name!r}, fallthrough_kernel, 'Autograd')."
            ) from None
    return [(tensor, tensor._grad_fn) for tensor in tensors]


def _mark_unknown(
    op: Operator,
    arguments: Sequence[object],
    results: Sequence[object],
    makers: Sequence[tuple[TensorBase, Node | None]] = (),
) -> None:
    if _fallback_mode == "nothing":
        return
    # A kernel that calls differentiable operators has recorded its write already.
    written = [tensor for tensor, maker in makers if tensor._grad_fn is maker]
    written = [tensor for tensor in written if tensor._signature & DIFFERENTIABLE]
    made = [
        each
        for each in tensors_among(results)
        if each._signature & DIFFERENTIABLE
        and not each._signature & GRAD
        and not any([each is argument for argument in tensors_among(arguments)])
    ]
    if not made and not written:
        return
    name = f"{op.name.replace('::', '.')}.{op.overload or 'default'}"
    node = NotImplementedNode(
        name, arguments, [*written, *made], op.qualified_name if _fallback_mode == "warn" else None
    )
    if not node.next_edges:
        return
    for output_nr, tensor in enumerate(written):
        rebase_history(tensor, node, output_nr)
    for output_nr, tensor in enumerate(made, len(written)):
        tensor._grad_fn = node
        tensor.output_nr = output_nr
        tensor._signature |= GRAD
