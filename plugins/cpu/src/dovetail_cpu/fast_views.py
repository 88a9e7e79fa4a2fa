"""Expansion without NumPy's iterator: every sum has one in its backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from dovetail_aten.array_kernels import KernelTable
from dovetail_aten.array_kernels.capabilities import Capabilities


def define(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    """Define the kernels of this family."""
    generic = kernel.kernels["expand"].fn
    make = numpy.ndarray

    @kernel.named("expand")
    def expand(self: Any, size: Sequence[int], *, implicit: bool = False) -> Any:
        shape, own = tuple(size), self.shape
        if shape == own:
            return self
        lead = len(shape) - len(own)
        if lead < 0 or 0 in shape or not self.flags.c_contiguous:
            return generic(self, size)
        steps = [0] * lead
        for wanted, present, step in zip(shape[lead:], own, self.strides, strict=True):
            if wanted == present:
                steps.append(step)
            elif present == 1 and wanted > 0:
                steps.append(0)
            else:
                return generic(self, size)
        if min(shape) < 0:
            return generic(self, size)
        # An array is a buffer, also for ndarray's own constructor: numpy.broadcast_to takes eight
        # times as long.
        result = make(shape, self.dtype, self, 0, steps)
        if result.size > self.size:
            result.flags.writeable = False
        return result
