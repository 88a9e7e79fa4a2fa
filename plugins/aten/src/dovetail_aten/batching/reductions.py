"""Reductions, scans and sorts: dimensions count from the first of a sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_dispatcher import Operator
from dovetail_dispatcher.table import registry

from .._generated import functions as F
from ..kernel_support.dims import wrap_dim
from ..typing import Batch, Dims
from .table import Rule, flat, front, logical_ndim


def reduce(op: Operator) -> Rule:
    """Return the rule of a reduction over dimensions that it names: ``dim`` is a number, or a list
    (None, empty: all).

    Works from the schema: wherever ``dim`` and ``keepdim`` stand, and however many results there
    are.
    """
    call = op.handle
    positional = [a.name for a in op.schema.arguments if not a.kwarg_only]
    if "dim" not in positional:
        return _whole(op)
    at = positional.index("dim")
    several = op.schema.arguments[at].real_type.schema_str not in ("int", "int?")
    results = len(op.schema.returns)
    keepdim_at = positional.index("keepdim") if "keepdim" in positional else None
    keeps = any([a.name == "keepdim" for a in op.schema.arguments])
    out_dims: Any = 0 if results == 1 else (0,) * results

    def apply(info: Batch, in_dims: Dims, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        values = list(args)
        self, dim = values[0], values[at]
        ndim = logical_ndim(self, 0)
        physical: Any
        if not several:
            physical = front(dim, ndim)
        elif dim is None or not len(dim):
            physical = tuple(range(1, max(ndim, 1) + 1))
        else:
            physical = tuple([front(each, ndim) for each in dim])
        if ndim == 0:  # one element: as a vector
            values[0] = F.unsqueeze(self, 1)
            if keepdim_at is not None:
                values[keepdim_at] = False
            elif keeps:
                kwargs["keepdim"] = False
        values[at] = physical
        return call(*values, **kwargs), out_dims

    return apply


def along_dim(op: Operator) -> Rule:
    """Return the rule of an operator that goes along the dimension ``dim`` and keeps it."""
    call = op.handle
    place = next(iter([i for i, a in enumerate(op.schema.arguments) if a.name == "dim"]))
    at: Any = "dim" if op.schema.arguments[place].kwarg_only else place
    several = len(op.schema.returns) > 1

    def apply(info: Batch, in_dims: Dims, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        values = list(args)
        ndim = logical_ndim(values[0], 0)
        given: Any = kwargs if at == "dim" else values
        given[at] = front(given[at], ndim)
        if ndim == 0:
            values[0] = F.unsqueeze(values[0], 1)
        made = call(*values, **kwargs)
        if ndim == 0:
            made = tuple([F.squeeze(each, 1) for each in made]) if several else F.squeeze(made, 1)
        return made, (0,) * len(made) if several else 0

    return apply


def _whole(op: Operator) -> Rule:
    """Return the rule of a reduction over everything: the overload with ``dim``, over dimension 1
    of samples made vectors.
    """
    overloads = registry.operators[op.name].values()
    along = next(iter([o for o in overloads if any([a.name == "dim" for a in o.schema.arguments])]))
    call = along.handle
    is_number = along.schema.arguments[1].real_type.schema_str == "int"
    dim = 1 if is_number else (1,)

    def apply(info: Batch, in_dims: Sequence[int], self: Any, **kwargs: Any) -> tuple[Any, Any]:
        return call(flat(self), dim, **kwargs), 0

    return apply


def largest(info: Batch, in_dims: Dims, self: Any) -> tuple[Any, Any]:
    """Return the largest element of each sample."""
    return F.amax(flat(self), (1,)), 0


def smallest(info: Batch, in_dims: Dims, self: Any) -> tuple[Any, Any]:
    """Return the smallest element of each sample."""
    return F.amin(flat(self), (1,)), 0


def argmax(op: Operator) -> Rule:
    """Return the rule of argmax or argmin, which without ``dim`` count through the whole sample."""
    find = op.handle

    def apply(
        info: Batch, in_dims: Dims, self: Any, dim: int | None = None, keepdim: bool = False
    ) -> tuple[Any, Any]:
        ndim = logical_ndim(self, 0)
        if dim is not None and ndim:
            return find(self, front(dim, ndim), keepdim), 0
        if dim is not None:
            wrap_dim(dim, ndim)
        found = find(flat(self), 1)
        if keepdim and dim is None:
            found = F.view(found, (info.batch_size, *([1] * ndim)))
        return found, 0

    return apply


def count_nonzero(info: Batch, in_dims: Dims, self: Any, dim: int | None = None) -> tuple[Any, Any]:
    """Return how many elements of each sample, or along `dim` of each, are not zero."""
    ndim = logical_ndim(self, 0)
    if dim is None or not ndim:
        return F.count_nonzero_default(flat(self), 1), 0
    return F.count_nonzero_default(self, front(dim, ndim)), 0
