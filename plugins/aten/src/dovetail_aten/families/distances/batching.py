"""Lengths of the parts of samples."""

from __future__ import annotations

from typing import Any

from ..._generated import functions as F
from ...batching.table import logical_shape
from ...kernel_support.checks.norm_checks import SMALL, check_renorm
from ...typing import Batch, Dims


def renorm(
    info: Batch, in_dims: Dims, self: Any, p: Any, dim: int, maxnorm: Any
) -> tuple[Any, Any]:
    axes = check_renorm(logical_shape(self, 0), p, dim, maxnorm)
    norm = F.linalg_vector_norm(self, p, tuple([axis + 1 for axis in axes]), True)
    factor = F.div(maxnorm, F.add(norm, SMALL))
    return F.mul(self, F.where(F.gt(norm, maxnorm), factor, 1)), 0
