"""Which Tensor arguments a Python number may stand for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from dovetail_kernel import TensorBase

from ...schema.types import NumberType, TensorType, without_optional
from ...sockets import BASE_OPERATORS
from ...table import registry
from ...table.operator import Operator


def is_arithmetic(op: Operator) -> bool:
    """Return whether an operator takes a number for every Tensor."""
    return op.name in BASE_OPERATORS.plug.arithmetic


def number_arguments(
    op: Operator, args: Iterable[object], kwargs: Mapping[str, object]
) -> Collection[str]:
    """Return the names of the Tensor arguments of a base operator that a number may stand for in a
    call: those that are numbers in another overload, which the one for tensors serves, beside a
    tensor.
    """
    if not is_arithmetic(op) and not any(
        [isinstance(value, TensorBase) for value in (*args, *kwargs.values())]
    ):
        return ()
    tensors = [
        argument.name
        for argument in op.schema.arguments
        if isinstance(without_optional(argument.real_type), TensorType)
    ]
    if is_arithmetic(op) or op.name in BASE_OPERATORS.plug.serving_numbers:
        return tensors
    numbers = {
        argument.name
        for each in registry.operators.get(op.name, {}).values()
        if each.is_defined
        for argument in each.schema.arguments
        if isinstance(without_optional(argument.real_type), NumberType)
    }
    return [name for name in tensors if name in numbers]
