"""Expansion without NumPy's iterator: every sum has one in its backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from dovetail_aten.array_kernels.views import Views

_make = numpy.ndarray


class FastViews(Views):
    """Expansion."""

    def expand(self, x: Any, size: Sequence[int], *, implicit: bool = False) -> Any:
        """Return a view broadcast to `size`, made from its strides."""
        shape, own = tuple(size), x.shape
        if shape == own:
            return x
        lead = len(shape) - len(own)
        if lead < 0 or 0 in shape or not x.flags.c_contiguous:
            return Views.expand(self, x, size)
        steps = [0] * lead
        for wanted, present, step in zip(shape[lead:], own, x.strides, strict=True):
            if wanted == present:
                steps.append(step)
            elif present == 1 and wanted > 0:
                steps.append(0)
            else:
                return Views.expand(self, x, size)
        if min(shape) < 0:
            return Views.expand(self, x, size)
        # An array is a buffer, also for ndarray's own constructor: numpy.broadcast_to takes eight
        # times as long.
        result = _make(shape, x.dtype, x, 0, steps)
        if result.size > x.size:
            result.flags.writeable = False
        return result
