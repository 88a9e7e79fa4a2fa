"""Which overload the call of a packet takes: the first that its arguments fit."""

from __future__ import annotations

from collections.abc import Mapping

from ..schema import Argument, bind
from ..sockets import BASE_OPERATORS
from ..table.operator import Operator
from .entry_support import number_argument
from .promotion.scalar_arguments import is_arithmetic, number_arguments


def resolve_overload(
    name: str, operators: list[Operator], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> Operator:
    """Return the first of `operators` whose schema the arguments fit.

    A Python number stands for a Tensor only in the arithmetic operators, so that ``pow(x, 2)``
    finds the overload for numbers; in the others of the base library it does where no overload fits
    otherwise, for what is a number in another overload. Raises RuntimeError if none fits, with the
    reason of each.
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


def candidate(
    operators: list[Operator], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> Operator | None:
    """Return the first of `operators` that calls with arguments of these classes may fit: if one
    does, the call takes it. None if the classes say that none fits.
    """
    for op in operators:
        if _may_fit(op, args, kwargs):
            return op
    return None


def _may_fit(op: Operator, args: tuple[object, ...], kwargs: Mapping[str, object]) -> bool:
    arguments = op.schema.arguments
    if len(args) > sum([not each.kwarg_only for each in arguments]):
        return False
    given = {**{a.name: value for a, value in zip(arguments, args, strict=False)}, **kwargs}
    known = {each.name for each in arguments}
    if not given.keys() <= known or len(given) < len(args) + len(kwargs):
        return False
    return all(
        [
            not _is_refused(op, each, given[each.name])
            if each.name in given
            else each.has_default_value()
            for each in arguments
        ]
    )


def _is_refused(op: Operator, argument: Argument, value: object) -> bool:
    """Return whether no value of this class fits an argument, whatever the others are."""
    kind = argument.real_type.schema_str
    if isinstance(value, list | tuple):
        return "[" not in kind
    if type(value) in (int, float, bool, complex, str):
        return kind in ("Tensor", "Tensor?") and not is_arithmetic(op)
    return False
