"""What the elements up to each one give together, by a function of two that may be grouped."""

from __future__ import annotations

from typing import Any

from ..typing import Array
from .family import Family
from .table import Function


class Running(Family):
    """Running results of functions of two operands."""

    def _running(self, combine: Function, x: Array, axis: int) -> Any:
        """Return what `combine` makes of all elements along `axis` up to each one: pairs first,
        then pairs of pairs, so that no loop over elements is needed.
        """
        xp, size, step = self.xp, x.shape[axis], 1
        if size < 2:
            return self.capabilities.clone(x)
        before = (slice(None),) * axis
        while step < size:
            head, tail = x[(*before, slice(0, step))], x[(*before, slice(step, None))]
            earlier = x[(*before, slice(0, size - step))]
            x = xp.concatenate([head, combine(earlier, tail)], axis=axis)
            step *= 2
        return x

    def _places(self, x: Array, axis: int) -> Any:
        """Return the number of each element along `axis`, to be broadcast with `x`."""
        sizes = [1] * x.ndim
        sizes[axis] = x.shape[axis]
        return self.xp.reshape(self.xp.arange(x.shape[axis], dtype=self.xp.int64), tuple(sizes))
