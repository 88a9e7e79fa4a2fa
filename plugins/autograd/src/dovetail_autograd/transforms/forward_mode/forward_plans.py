"""Plans: what is known beforehand of the calls of an operator on dual tensors.

Most operators return one new tensor of tensors and numbers, and have a forward formula. For them
all that depends on the schema and on the formula alone is found out once; a call then looks at
nothing but its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from dovetail_dispatcher import Operator, OpOverload
from dovetail_dispatcher.table import Formula, Forward, registry
from dovetail_kernel import TensorBase
from dovetail_kernel.signature import WRAPPED_BIT

from ...graph.engine_ops import operator
from ...graph.function_node import DIFFERENTIABLE
from ..wrapped.arrays import wrapped
from ..wrapped.wrapped_calls import numbers_as_tensors
from .duals import DualArray, is_of_memory
from .tangents import conformed, or_zeros

if TYPE_CHECKING:
    from dovetail_dispatcher.schema import FunctionSchema

    from .dual_interpreter import JvpLevel

Reader = Callable[[Sequence[Any], Sequence[Any], dict[str, Any], Any], Any]
"""Takes the primals, the tangents (None where there is none), the keyword arguments and the result
of a call.
"""


class Plan:
    """Runs an operator that returns one new tensor, and finds its tangent.

    Attributes
    ----------
    tensors
        Positions of the tensors among the positional arguments.
    inputs
        Positions of those by which it can be differentiated.
    readers
        One per parameter of the forward formula.
    """

    __slots__ = ("forward", "inputs", "linear", "op", "readers", "tensors")

    def __init__(self, op: OpOverload, formula: Formula, forward: Forward) -> None:
        schema = op._schema
        positional = [argument for argument in schema.arguments if not argument.kwarg_only]
        names = [argument.name for argument in positional]
        self.op = op
        self.forward = forward
        self.tensors = [
            index for index, argument in enumerate(positional) if argument.is_tensor_like
        ]
        self.inputs = [names.index(name) for name in formula.inputs]
        self.readers = [_reader(name, names, schema) for name in forward.parameters]
        if forward.kind == "elementwise":
            self.readers.insert(0, _tangent(self.inputs[0]))

    def run(self, level: JvpLevel, args: Sequence[object], kwargs: dict[str, object]) -> Any:
        """Return the result of a call whose deepest wrapped arguments are of `level`."""
        primals = list(args)
        tangents: list[Any] = [None] * len(primals)
        for index in self.tensors:
            value = primals[index]
            if not isinstance(value, TensorBase):
                if value is not None:
                    return self.run(level, numbers_as_tensors(self.op._schema, tuple(args)), kwargs)
            elif value._signature & WRAPPED_BIT and value.array.level is level:
                primals[index] = value.array.physical
                tangents[index] = value.array.tangent
        result = self.op(*primals, **kwargs)
        for index in self.inputs:
            if tangents[index] is not None:
                break
        else:
            return result
        if not result._signature & DIFFERENTIABLE:
            return result
        tangent = self.tangent(primals, tangents, kwargs, result)
        for index in self.tensors:
            if tangents[index] is not None and tangents[index].array is tangent.array:
                # A formula returned the tangent of an argument: a write to one is not for both.
                tangent = operator("clone", "default")(tangent)
                break
        array = DualArray(result, conformed(tangent, result), level)
        return wrapped(result, level, array)

    def tangent(
        self,
        primals: Sequence[object],
        tangents: Sequence[TensorBase | None],
        kwargs: dict[str, object],
        result: TensorBase,
    ) -> TensorBase:
        """Return the tangent of `result`."""
        forward = self.forward
        found: TensorBase
        if forward.kind == "linear":
            values = list(primals)
            for index in self.inputs:
                values[index] = or_zeros(tangents[index], primals[index])
            found = self.op(*values, **kwargs)
            return found
        assert forward.function is not None
        arguments = [read(primals, tangents, kwargs, result) for read in self.readers]
        if forward.kind == "elementwise" and (
            arguments[0].dtype.is_complex or result.dtype.is_complex
        ):
            conj = operator("conj", "default")
            found = conj(forward.function(conj(arguments[0]), *arguments[1:]))
        else:
            found = forward.function(*arguments)
        return found


def _reader(name: str, names: Sequence[str], schema: FunctionSchema) -> Reader:
    """Return what reads the value that `name` stands for in a forward formula."""
    if name in names:
        return _primal(names.index(name))
    if name in [argument.name for argument in schema.arguments]:
        return lambda primals, tangents, kwargs, result: kwargs[name]
    owner, _, mark = name.rpartition("_")
    if mark in ("p", "t") and owner in names:
        return (_tangent if mark == "t" else _primal)(names.index(owner))
    return lambda primals, tangents, kwargs, result: result


def _primal(index: int) -> Reader:
    return lambda primals, tangents, kwargs, result: primals[index]


def _tangent(index: int) -> Reader:
    return lambda primals, tangents, kwargs, result: or_zeros(tangents[index], primals[index])


_plans: Final[dict[Operator, tuple[int, Plan | None]]] = {}


def plan_of(op: OpOverload) -> Plan | None:
    """Return the plan of an OpOverload, made when first asked for; None if each of its calls has to
    be looked at.
    """
    known = _plans.get(op._operator)
    if known is None or known[0] != registry.epoch:
        known = _plans[op._operator] = registry.epoch, _made(op)
    return known[1]


def _made(op: OpOverload) -> Plan | None:
    schema, formula = op._schema, op._operator.derivative
    if is_of_memory(op._operator):
        return None
    if not isinstance(formula, Formula) or formula.operator != op._operator.qualified_name:
        return None
    if [item.kind for item in schema.returns] != ["Tensor"] or schema.returns[
        0
    ].alias_info is not None:
        return None
    for argument in schema.arguments:
        if argument.is_write or (
            argument.is_tensor_like and (argument.kwarg_only or "[" in argument.kind)
        ):
            return None
    if formula.refused or len(formula.forward) != 1 or formula.forward[0].output != 0:
        return None
    if formula.output_differentiability is not None and not all(formula.output_differentiability):
        return None
    return Plan(op, formula, formula.forward[0])
