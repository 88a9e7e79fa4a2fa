"""Calls that leave the fast path for a whole number in the place of a float alone: ``p=2``."""

from __future__ import annotations

from typing import Any, Final

from dovetail_kernel import TensorBase

from ..table.operator import Operator
from .templates.arguments import spelling

__all__ = ["with_floats"]

_CLASSES: Final = {
    "int": (int,),
    "bool": (bool,),
    "str": (str,),
    "float": (float,),
    "Scalar": (int, float, bool, complex),
}
_EXACT: Final = 1 << 53
"""The greatest whole number up to which floats have all."""


def with_floats(op: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
    """Return all arguments of a call, ints as floats where the schema says so.

    None for a call that does not give all of them by position, or one of another class: then they
    are bound with every check and cast, which takes ten times as long.
    """
    arguments = op.schema.arguments
    if kwargs or len(args) != len(arguments):
        return None
    values = []
    for argument, value in zip(arguments, args, strict=True):
        kind, cls = spelling(argument), value.__class__
        if kind == "float" and cls is int and -_EXACT <= value <= _EXACT:
            values.append(float(value))
            continue
        if not (
            cls in _CLASSES.get(kind, ())
            or (kind in ("Tensor", "Tensor?") and isinstance(value, TensorBase))
            or (kind == "Tensor?" and value is None)
        ):
            return None
        values.append(value)
    return values
