"""What goes to the places that a pooling has found, written into new zeros."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy

from dovetail_aten.families.pooling.kernels.pooled_places import PooledPlaces

from .accumulation import add_at, scatter_into


class FastPooledPlaces(PooledPlaces):
    """Gradients of maxima, and unpooling, without a copy of zeros."""

    def _check_places(self, indices: Any, sizes: Sequence[int]) -> None:
        """Refuse places that an image has not, which one pass tells."""
        if indices.size and not self.capabilities.are_below(indices, prod(sizes)):
            PooledPlaces._check_places(self, indices, sizes)

    def _at_places(self, values: Any, indices: Any, sizes: Sequence[int], accumulate: bool) -> Any:
        """Return zeros of some sizes with values at places of each image, or added there."""
        lead = values.shape[: values.ndim - len(sizes)]
        made = numpy.zeros((prod(lead), prod(sizes)), values.dtype)
        if values.size:
            rows = (len(made), -1)
            combine = add_at if accumulate else None
            scatter_into(made, 1, indices.reshape(rows), values.reshape(rows), combine)
        return made.reshape(*lead, *sizes)
