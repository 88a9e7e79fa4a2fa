"""Writes to captured tensors inside of a function that is being differentiated: they are refused.

The gradient of such a write belongs to a tensor that the transform does not know, and would be lost
or, worse, be found outside. Memory that is made while a transform is in force is marked with its
number in the version counter, which views and detached tensors share; inputs have a counter with
the number as well. What has no number, or a lower one, is captured.
"""

from __future__ import annotations

from dovetail_dispatcher import Operator
from dovetail_dispatcher.calls import Printer, RoutePlan, Step, Value, argument_value
from dovetail_dispatcher.schema import TENSOR, TENSOR_LIST
from dovetail_kernel import TensorBase, share_version
from dovetail_kernel.tensor import InputCounter, InsideCounter

from ...engine.active_levels import refuse_captured


class RefuseCaptured(Step):
    """Raise an error for a write to a tensor, or a list of tensors, captured by an active
    transform.
    """

    op: Operator
    written: Value
    is_list: bool

    def print(self, to: Printer) -> None:
        name = self.op.qualified_name.removesuffix(".default")
        refuse, listed = to.bind("refuse_captured", refuse_captured), "*" if self.is_list else ""
        to.add(f"{refuse}({name!r}, {listed}{to.name(self.written)})")


def guarding_captured(op: Operator, plan: RoutePlan) -> RoutePlan:
    """Return `plan` with a check of the tensor that it writes in place; ``out=`` and buffers are
    free.
    """
    arguments, returns = op.schema.arguments, op.schema.returns
    first = arguments[0] if arguments else None
    if first is None or not first.is_write or first.is_out:
        return plan
    is_list = first.kind == TENSOR_LIST
    if not is_list and (first.kind != TENSOR or not returns):
        return plan
    return plan.beginning_with(RefuseCaptured(op, argument_value(first), is_list))


def as_input(tensor: TensorBase, number: int) -> None:
    """Let `tensor`, which shares memory with what the transform `number` was given, be written
    inside of it.
    """
    tensor._counter = InputCounter(number, share_version(tensor))


def keep_number(view: TensorBase, source: TensorBase) -> None:
    """Let `view`, a new tensor, be known to the transforms that know `source`, whose memory it
    shows.
    """
    counter = source._counter
    if isinstance(counter, (InsideCounter, InputCounter)):
        as_input(view, counter.made)
