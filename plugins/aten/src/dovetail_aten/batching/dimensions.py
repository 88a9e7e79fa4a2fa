"""Operators whose arguments name dimensions of a sample, and those that treat a batch alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from dovetail_dispatcher import Operator

from .._generated import functions as F
from ..typing import Batch, Dims
from .table import Rule, call_one, front

_LEAST: Final = {"tril": 2, "triu": 2, "view": 1, "view_as_complex": 1}
"""Dimensions below which a sample has to be asked: its batch would be taken all the same."""


def unchanged(op: Operator) -> Rule:
    """Return the rule of an operator that does to a batch what it does to each sample."""
    call, least = op.handle, _LEAST.get(op.base_name, 0)

    def apply(info: Batch, in_dims: Dims, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        if args[0].array.ndim <= least:
            call_one(call, in_dims, *args, **kwargs)
        return call(*args, **kwargs), 0

    return apply


def along_dims(op: Operator) -> Rule:
    """Return the rule of an operator whose dimensions count from the first of a sample. One without
    dimensions is as it was, or refused.
    """
    call, physical = op.handle, physical_dims(op)
    copied = F.alias if op.schema._is_view_op() else F.clone

    def apply(info: Batch, in_dims: Dims, *args: Any) -> tuple[Any, Any]:
        ndim = args[0].array.ndim - 1
        if ndim:
            return call(*physical(args, ndim)), 0
        call_one(call, in_dims, *args)
        return copied(args[0]), 0

    return apply


def physical_dims(op: Operator) -> Callable[[Sequence[Any], int], list[Any]]:
    """Return what gives the arguments of an operator, of samples of so many dimensions, with the
    dimensions of the batch: those of ``dim``, ``dims``, ``dim0``, ...
    """
    names = [argument.name for argument in op.schema.arguments]
    places = [place for place, name in enumerate(names) if re.fullmatch(r"dims?\d?", name)]

    def physical(args: Sequence[Any], ndim: int) -> list[Any]:
        values = [*args]
        for place in places:
            given = values[place]
            values[place] = (
                front(given, ndim)
                if isinstance(given, int)
                else tuple([front(dim, ndim) for dim in given])
            )
        return values

    return physical
