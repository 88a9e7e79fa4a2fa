"""The greatest or least elements of rows, found without sorting what is left out."""

from __future__ import annotations

from typing import Any, Final

import numpy
import numpy as np

from dovetail_aten.families import Ordering
from dovetail_aten.kernel_support import wrap_dim

_PARTITIONED_FROM: Final = 64
"""Length of a row from which a partition pays."""
_SHARE: Final = 4
"""By how many times `k` a row has to be longer."""


class FastOrdering(Ordering):
    """Order along the last dimension."""

    def topk(
        self, x: np.ndarray, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
    ) -> tuple[Any, Any]:
        """Return the `k` greatest, or least, elements along a dimension, and their places."""
        length = x.shape[-1] if x.ndim and wrap_dim(dim, x.ndim) == x.ndim - 1 else 0
        if length < _PARTITIONED_FROM or not 0 < k * _SHARE <= length or not x.size:
            values, indices = Ordering.topk(self, x, k, dim, largest, sorted)
            return values, indices
        pick, keys = self.xp.take_along_axis, self._sortable(x)
        found = keys.argpartition(length - k if largest else k - 1, -1)
        # In order, so that among equal elements the first come first.
        found = numpy.sort(found[..., length - k :] if largest else found[..., :k], -1)
        order = self._order(pick(keys, found, axis=-1), x.ndim - 1, largest)
        indices = numpy.ascontiguousarray(pick(found, order, axis=-1))
        return pick(x, indices, axis=-1), indices
