"""Views without NumPy's iterator and without a pass over their sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from dovetail_aten.array_kernels.views import Views

_make = numpy.ndarray


class FastViews(Views):
    """Other shapes, and expansion."""

    def view(self, x: Any, size: Sequence[int]) -> Any:
        """Return a view with another shape, which NumPy finds; what it refuses or copies is looked
        at by the generic kernel.
        """
        try:
            result = x.reshape(size)
        except ValueError:
            return Views.view(self, x, size)
        # NumPy takes any negative size for the one to be found, and copies where it must: a copy
        # has neither the array nor its base for a base.
        if result.shape != size and -1 not in size:
            return Views.view(self, x, size)
        base = result.base
        return result if base is x or base is x.base is not None else Views.view(self, x, size)

    def expand(self, x: Any, size: Sequence[int], *, implicit: bool = False) -> Any:
        """Return a view broadcast to `size`, made from its strides; -1 keeps a size."""
        shape, own = tuple(size), x.shape
        if shape == own:
            return x
        lead = len(shape) - len(own)
        if lead < 0 or 0 in shape or not x.flags.c_contiguous:
            return Views.expand(self, x, size)
        steps = [0] * lead
        for wanted, present, step in zip(shape[lead:], own, x.strides, strict=True):
            if wanted == present or wanted == -1:
                steps.append(step)
            elif present == 1 and wanted > 0:
                steps.append(0)
            else:
                return Views.expand(self, x, size)
        if -1 in shape:
            shape = (*shape[:lead], *map(_kept, shape[lead:], own))
        if min(shape) < 0:
            return Views.expand(self, x, size)
        # An array is a buffer, also for ndarray's own constructor: numpy.broadcast_to takes eight
        # times as long.
        result = _make(shape, x.dtype, x, 0, steps)
        if result.size > x.size:
            result.flags.writeable = False
        return result


def _kept(wanted: int, present: int) -> int:
    return present if wanted == -1 else wanted
