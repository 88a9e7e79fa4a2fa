"""Borders around tensors under names that say the dimensions, and diagonals that are filled."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_kernel import bool as bool_
from dovetail_kernel import uint16, uint32, uint64

from ...composites.padded import check_mirrored, pad
from ...typing import Scalar

_REFUSED = frozenset({bool_, uint16, uint32, uint64})
"""Dtypes that PyTorch has no borders of."""


def _padded(dims: int, mode: str, self: Any, padding: Sequence[int]) -> Any:
    """Return `self` with a border around its last `dims` dimensions, made of its own elements."""
    if self.dtype in _REFUSED:
        name = "reflection" if mode == "reflect" else "replication"
        raise NotImplementedError(
            f"\"{name}_pad{dims}d\" not implemented for '{self.dtype.scalar_name}'. Convert to "
            "another dtype first."
        )
    check_mirrored(self.shape, dims)
    if len(padding) != 2 * dims:
        raise RuntimeError(
            f"padding size is expected to be {2 * dims}, but got: {len(padding)}. Give the counts "
            "before and after for each dimension, from the last."
        )
    return pad(self, padding, mode)


reflection_pad1d = partial(_padded, 1, "reflect")
reflection_pad2d = partial(_padded, 2, "reflect")
reflection_pad3d = partial(_padded, 3, "reflect")
replication_pad1d = partial(_padded, 1, "replicate")
replication_pad2d = partial(_padded, 2, "replicate")
replication_pad3d = partial(_padded, 3, "replicate")


def fill_diagonal(self: Any, fill_value: Scalar, wrap: bool = False) -> Any:
    """Write a number on the diagonal of `self`; with `wrap` the diagonal of a tall matrix begins
    again below one row that it leaves out.
    """
    if self.ndim < 2:
        raise RuntimeError("dimensions must larger than 1. Give a matrix, or equal dimensions.")
    if self.ndim > 2 and len(set(self.shape)) > 1:
        raise RuntimeError(
            "all dimensions of input must be of equal length, or there must be two of them, but "
            f"the shape is {list(self.shape)}."
        )
    diagonal = F.diagonal(self)
    for _ in self.shape[2:]:
        diagonal = F.diagonal(diagonal, 0, 0, -1)
    F.fill_(diagonal, fill_value)
    if wrap and self.ndim == 2:
        rows, columns = self.shape
        for first in range(columns + 1, rows, columns + 1):
            F.fill_(F.diagonal(self, -first), fill_value)
    return self
