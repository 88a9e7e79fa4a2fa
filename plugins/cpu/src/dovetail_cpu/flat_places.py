"""Indices along a dimension that are places in memory: one for each element, which is what NumPy is
fast for.
"""

from __future__ import annotations

from typing import Any, Final

import numpy

from dovetail_aten.kernel_support.checks.index_checks import PlacesAlong
from dovetail_aten.kernel_support.dims import wrap_dim

_ARRAY: Final = numpy.ndarray
_LONG: Final = numpy.dtype(numpy.int64)


class FlatPlaces(PlacesAlong):
    """What operators that index along one dimension ask first."""

    def _axis_of_places(self, x: Any, dim: int, index: Any) -> int | None:
        """Return `dim`, counted from 0, if `index` has places along it for some of what `x`, an
        array in C order, has in the other dimensions; None for anything else, and what is wrong.
        """
        ndim = x.ndim
        if (
            not ndim
            or index.ndim != ndim
            or index.dtype != _LONG
            or not index.size
            or not x.flags.c_contiguous
        ):
            return None
        axis = dim if 0 <= dim < ndim else wrap_dim(dim, ndim)
        shape, places = x.shape, index.shape
        if places != shape:
            for each, size in enumerate(shape):
                if places[each] > size and each != axis:
                    return None
        if not index.flags.c_contiguous or not self.capabilities.are_below(index, shape[axis]):
            return None
        return axis

    def _source_at(self, x: Any, index: Any, source: Any) -> Any:
        """Return the part of `source` that comes to `index`, or the number as an array; None if it
        does not fit, or numbers of another kind are to be refused.
        """
        if source.__class__ is not _ARRAY:
            return None if hasattr(source, "dtype") else self.numbers.fitting(x, source)
        if source.dtype is not x.dtype:
            return None
        shape, places = source.shape, index.shape
        if shape == places:
            return source
        if len(shape) != len(places):
            return None
        for size, length in zip(shape, places, strict=True):
            if length > size:
                return None
        return source[tuple([slice(length) for length in places])]
