"""Joining arrays of one dtype without looking at each of them more than once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from dovetail_aten.families.shapes.kernels import Shapes
from dovetail_aten.kernel_support.family import never_warns

_concatenate = getattr(numpy.concatenate, "_implementation", numpy.concatenate)
"""The function behind the one that asks for ``__array_function__``."""
_NEW: tuple[tuple[Any, ...], ...] = ((None,), (slice(None), None))
"""Indices that give an array a new dimension, by its place."""


class FastJoining(Shapes):
    """cat and stack."""

    @never_warns
    def cat(self, tensors: Sequence[Any], dim: int = 0) -> Any:
        """Return the arrays joined along `dim`: what is not plain is left to the generic kernel."""
        dtype = tensors[0].dtype if tensors else None
        for array in tensors:
            if array.dtype is not dtype or not array.size or not array.ndim:
                return Shapes.cat(self, tensors, dim)
        try:
            joined = _concatenate(tensors, dim)
        except (ValueError, TypeError):
            return Shapes.cat(self, tensors, dim)
        return joined if joined.flags.c_contiguous else joined.copy()

    @never_warns
    def stack(self, tensors: Sequence[Any], dim: int = 0) -> Any:
        """Return the arrays joined along a new dimension in front or behind the first."""
        if not tensors or not 0 <= dim < 2:
            return Shapes.stack(self, tensors, dim)
        dtype, shape = tensors[0].dtype, tensors[0].shape
        for array in tensors:
            if array.dtype is not dtype or array.shape != shape or len(shape) < dim:
                return Shapes.stack(self, tensors, dim)
        key = _NEW[dim]
        joined = _concatenate([array[key] for array in tensors], dim)
        return joined if joined.flags.c_contiguous else joined.copy()
