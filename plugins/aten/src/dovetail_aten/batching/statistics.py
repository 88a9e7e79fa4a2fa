"""Statistics: of each sample of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_dispatcher import Operator
from dovetail_dispatcher.table import registry

from .._generated import functions as F
from ..typing import Batch, Dims
from .table import Rule, flat, front, logical_ndim


def median(op: Operator) -> Rule:
    """Return the rule of a median of all elements: along dimension 1 of samples made vectors."""
    along = registry.find_or_throw(op.name, "dim").handle
    whole = op.handle

    def apply(info: Batch, in_dims: Sequence[int], self: Any) -> tuple[Any, Any]:
        rows = flat(self)
        if not rows.array.shape[1]:  # none is NaN, or refused
            return F.expand(whole(F.reshape(rows, (0,))), (info.batch_size,)), 0
        return along(rows, 1)[0], 0

    return apply


def aminmax(
    info: Batch, in_dims: Dims, self: Any, *, dim: int | None = None, keepdim: bool = False
) -> tuple[Any, Any]:
    """Return the least and greatest elements of each sample."""
    ndim = logical_ndim(self, 0)
    if dim is not None and ndim:
        return F.aminmax(self, dim=front(dim, ndim), keepdim=keepdim), (0, 0)
    if dim is not None:
        front(dim, ndim)
    made: Any = F.aminmax(flat(self), dim=1) if ndim else (F.clone(self), F.clone(self))
    if keepdim and dim is None:
        shape = (info.batch_size, *([1] * ndim))
        made = tuple([F.view(each, shape) for each in made])
    return tuple(made), (0, 0)


def tested_over(op: Operator) -> Rule:
    """Return the rule of all or any over dimensions, of which none given means none."""
    test = op.handle

    def apply(
        info: Batch, in_dims: Dims, self: Any, dim: Any = None, keepdim: bool = False
    ) -> tuple[Any, Any]:
        ndim = logical_ndim(self, 0)
        dims = tuple(range(ndim)) if dim is None else dim
        physical = [front(each, ndim) for each in dims] if ndim else [front(d, 0) for d in dims]
        if ndim:
            return test(self, physical, keepdim), 0
        return F.squeeze_dim(test(F.unsqueeze(self, 1), physical or (1,), True), 1), 0

    return apply
