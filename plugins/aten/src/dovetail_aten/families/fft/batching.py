"""Fourier transforms: dimensions count from the first of a sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_dispatcher import Operator

from ...batching.table import Rule, front, logical_ndim
from ...typing import Batch, Dims


def fourier(op: Operator) -> Rule:
    """Return the rule of a transform, whose dimensions are a list."""
    call = op.handle

    def apply(
        info: Batch, in_dims: Dims, self: Any, dim: Sequence[int], *args: Any
    ) -> tuple[Any, Any]:
        ndim = logical_ndim(self, 0)
        return call(self, [front(each, ndim) for each in dim], *args), 0

    return apply
