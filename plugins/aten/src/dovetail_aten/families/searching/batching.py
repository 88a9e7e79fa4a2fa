"""Places in sorted sequences, and membership, of each sample of a batch."""

from __future__ import annotations

from typing import Any

from dovetail_dispatcher import Operator

from ..._generated import functions as F
from ...batching.each_sample import each_sample
from ...batching.table import Rule, batched, flat, logical_ndim, logical_shape
from ...typing import Batch, Dims, Scalar, Tensor


def searchsorted(
    info: Batch,
    in_dims: Dims,
    sorted_sequence: Any,
    self: Any,
    *,
    sorter: Any = None,
    **options: Any,
) -> tuple[Any, Any]:
    """Search the values of every sample, in rows of one sequence for each."""
    of_sequence, of_values, of_sorter = in_dims
    ndim = logical_ndim(sorted_sequence, of_sequence)
    if of_sequence is None and of_sorter is None and ndim == 1:
        return F.searchsorted_Tensor(sorted_sequence, self, sorter=sorter, **options), 0
    size = info.batch_size
    rows = batched(sorted_sequence, of_sequence, size)
    values = batched(self, of_values, size)
    if sorter is not None:
        sorter = batched(sorter, of_sorter, size)
    if ndim != 1:
        return F.searchsorted_Tensor(rows, values, sorter=sorter, **options), 0
    found = F.searchsorted_Tensor(rows, flat(values), sorter=sorter, **options)
    return F.view(found, (size, *logical_shape(values, 0))), 0


def isin(op: Operator) -> Rule:
    """Return the rule of membership: one call where all samples are tested for the same."""
    call, one_by_one = op.handle, each_sample(op)

    def apply(info: Batch, in_dims: Dims, elements: Tensor, tests: Scalar, **options: Any) -> Any:
        if in_dims[1] is not None:
            return one_by_one(info, in_dims, elements, tests, **options)
        return call(elements, tests, **options), 0

    return apply
