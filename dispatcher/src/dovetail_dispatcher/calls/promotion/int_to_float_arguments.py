"""Calls that leave the fast path for a number alone: ``p=2`` for a float, ``True`` for a Scalar."""

from __future__ import annotations

from typing import Any, Final

from dovetail_kernel import Device, TensorBase, dtype

from ...table.operator import Operator

_CLASSES: Final = {
    "int": (int,),
    "bool": (bool,),
    "str": (str,),
    "float": (float,),
    "Scalar": (int, float, bool, complex),
    "ScalarType": (dtype,),
    "Device": (Device,),
}
_EXACT: Final = 1 << 53
"""The greatest whole number up to which floats have all."""


def with_floats(op: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
    """Return all arguments of a call, ints as floats where the schema says so.

    None for a call that does not give all of them in their order, or one of another class: then
    they are bound with every check and cast, which takes ten times as long.
    """
    arguments = op.schema.arguments
    if len(args) + len(kwargs) != len(arguments):
        return None
    if kwargs and [each.name for each in arguments[len(args) :]] != list(kwargs):
        return None
    values = []
    for argument, value in zip(arguments, (*args, *kwargs.values()), strict=True):
        spelled, cls = argument.kind, value.__class__
        kind = spelled.removesuffix("?")
        if kind == "float" and cls is int and -_EXACT <= value <= _EXACT:
            value = float(value)
        elif not (
            cls in _CLASSES.get(kind, ())
            or (kind == "Tensor" and isinstance(value, TensorBase))
            or (value is None and spelled != kind)
        ):
            return None
        values.append(value)
    return values
