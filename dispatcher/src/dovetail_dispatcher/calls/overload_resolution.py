"""Which overload the call of a packet takes: the first that its arguments fit."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any

from dovetail_kernel import TensorBase

from ..schema import bind
from ..sockets import BASE_OPERATORS
from ..table.operator import Operator
from .entry_support import number_argument
from .promotion.scalar_arguments import is_arithmetic, number_arguments
from .templates.arguments import INT_LISTS


def resolve_overload(
    name: str, operators: list[Operator], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> Operator:
    """Return the first of `operators` whose schema the arguments fit.

    A Python number stands for a Tensor only in the arithmetic operators, so that ``pow(x, 2)``
    finds the overload for numbers; in the others of the base library it does where no overload fits
    otherwise, for what is a number in another overload.

    Raises
    ------
    RuntimeError
        If none fits, with the reason of each.
    """
    if not operators:
        raise RuntimeError(
            f"operator {name} has no overloads any more: its library was destroyed. Look it up "
            "again."
        )
    reasons: list[str] = []
    chosen = _first_fitting(operators, args, kwargs, is_arithmetic(operators[0]), reasons)
    if chosen is None and operators[0].namespace == BASE_OPERATORS.plug.namespace:
        chosen = _first_fitting(operators, args, kwargs, True, [])
    if chosen is None:
        failures = "\n\n".join(reasons)
        raise RuntimeError(
            f"Overloaded torch operator invoked from Python failed to match any schema:\n{failures}"
        )
    return chosen


def _first_fitting(
    operators: list[Operator],
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    numbers: bool,
    reasons: list[str],
) -> Operator | None:
    for op in operators:
        try:
            if numbers:
                bind(op.schema, args, kwargs, number_argument, number_arguments(op, args, kwargs))
            else:
                bind(op.schema, args, kwargs)
        except RecursionError:
            raise
        except RuntimeError as reason:
            reasons.append(str(reason))
        else:
            return op
    return None


def decided_by_class(op: Operator, args: tuple[object, ...]) -> bool:
    """Return whether every call with arguments of these `forms` fits `op`: nothing is cast, so no
    value can matter.
    """
    for argument, value in zip(op.schema.arguments, args, strict=False):
        if isinstance(value, TensorBase):
            if argument.real_type.schema_str not in ("Tensor", "Tensor?"):
                return False
        elif isinstance(value, list | tuple):
            kind = argument.kind.removesuffix("?")
            if kind not in INT_LISTS or any([item.__class__ is not int for item in value]):
                return False
        elif type(value) not in (int, float, bool, NoneType):
            return False
    return True


def forms(args: tuple[object, ...]) -> tuple[Any, ...]:
    """Return the classes of arguments; of lists and tuples, those of their items too."""
    return tuple(
        [
            (type(each), *map(type, each)) if isinstance(each, list | tuple) else type(each)
            for each in args
        ]
    )


def refused_by_number(op: Operator, count: int) -> bool:
    """Return whether `op` takes no call of `count` positional arguments and nothing else."""
    arguments = op.schema.arguments
    left_out = arguments[count:]
    too_many = count > len(arguments) or any([each.kwarg_only for each in arguments[:count]])
    return too_many or not all([each.has_default_value() for each in left_out])
