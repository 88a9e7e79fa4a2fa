"""Fourier transforms: dimensions count from the first of a sample."""

from __future__ import annotations

from typing import Any

from dovetail_dispatcher import Operator

from ...batching.table import Rule, front, logical_ndim


def fourier(op: Operator) -> Rule:
    """Return the rule of a transform, whose dimensions are a list."""
    call = op.handle

    def apply(info: Any, in_dims: Any, self: Any, dim: Any, *args: Any) -> tuple[Any, Any]:
        ndim = logical_ndim(self, 0)
        return call(self, [front(each, ndim) for each in dim], *args), 0

    return apply
