"""Operators that run once for every sample: what they find out of one is of no use for another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_dispatcher import Operator

from .._generated import functions as F
from ..typing import Batch
from .table import Rule, lower


def each_sample(op: Operator) -> Rule:
    """Return the rule that calls an operator once for each sample, and stacks the results."""
    call = op.handle
    keywords = [
        a.name
        for a in op.schema.arguments
        if a.kwarg_only and a.real_type.schema_str in ("Tensor", "Tensor?")
    ]

    def apply(info: Batch, in_dims: Sequence[object], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        dims = dict(zip(keywords, in_dims[len(args) :], strict=True))

        def made(entry: int | None) -> Any:
            given = [_entry(value, dim, entry) for value, dim in zip(args, in_dims, strict=False)]
            named = {n: _entry(value, dims.get(n), entry) for n, value in kwargs.items()}
            return call(*given, **named)

        if not info.batch_size:
            return _empty(made(None)), _front(op)
        return _stacked([made(entry) for entry in range(info.batch_size)]), _front(op)

    return apply


def _entry(value: Any, dim: Any, entry: int | None) -> Any:
    """Return what a sample has of an argument; None stands for one that is made up."""
    if isinstance(dim, list):
        return [_entry(each, of, entry) for each, of in zip(value, dim, strict=True)]
    if dim is None:
        return value
    return lower(value, dim) if entry is None else F.select(value, 0, entry)


def _stacked(rows: Sequence[Any]) -> Any:
    if isinstance(rows[0], list | tuple):
        return tuple([_stacked(column) for column in zip(*rows, strict=True)])
    return F.stack(list(rows), 0)


def _empty(made: Any) -> Any:
    """Return a batch of no results like this one."""
    if isinstance(made, list | tuple):
        return tuple([_empty(each) for each in made])
    return F.new_zeros(made, (0, *made.array.shape))


def _front(op: Operator) -> Any:
    """Return the batch dimension of each result, which is the first."""
    several = len(op.schema.returns)
    return 0 if several == 1 else (0,) * several
