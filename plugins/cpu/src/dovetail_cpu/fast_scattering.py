"""Reductions at places, and elements written at those of an array as one dimension, without an
index for each dimension.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

from dovetail_aten.families.scattering.kernels.indexed_writes import (
    IndexedWrites,
    check_masked_scatter,
    check_put,
    too_few,
)
from dovetail_aten.families.scattering.kernels.scatter_reductions import ScatterReductions
from dovetail_aten.kernel_support.checks.index_errors import no_place

from .accumulation import add_at, flat_places, put_at
from .flat_places import FlatPlaces


class FastScatterReductions(FlatPlaces, ScatterReductions):
    """Reductions at flat places."""

    def _reduced_at(
        self, name: str, x: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool
    ) -> Any:
        axis = self._axis_of_places(x, dim, index)
        values = None if axis is None else self._source_at(x, index, src)
        if axis is None or values is None:
            return ScatterReductions._reduced_at(
                self, name, x, dim, index, src, reduce, include_self
            )
        self._check_kind("scatter_gather_tensor_cpu", x, reduce)
        places = flat_places(x, axis, index)
        values = values.reshape(-1) if values.ndim else values
        made = self._combined(x.reshape(-1), (places,), values, reduce, include_self)
        return made.reshape(x.shape)


class FastIndexedWrites(IndexedWrites):
    """Elements at places of an array as one dimension."""

    def put(self, x: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
        """Return a copy with the elements of `source` at `index` of the array as one dimension, or
        added there.
        """
        if not x.flags.c_contiguous:
            return IndexedWrites.put(self, x, index, source, accumulate)
        check_put(x, index, source, self.dtypes)
        made = numpy.array(x)
        if index.size:
            places = self.checked_places(index, -x.size, x.size, partial(no_place, x.size))
            combine = add_at if accumulate else None
            put_at(made.reshape(-1), places.reshape(-1), source.reshape(-1), combine)
        return made

    def masked_scatter(self, x: Any, mask: Any, source: Any) -> Any:
        """Return a copy with the elements of `source`, in their order, where `mask` is true."""
        if x.shape != mask.shape or not x.flags.c_contiguous:
            return IndexedWrites.masked_scatter(self, x, mask, source)
        check_masked_scatter(x, mask, source, self.dtypes)
        count = numpy.count_nonzero(mask)
        if count > source.size:
            raise too_few(source.size, count)
        made = numpy.array(x)
        made[mask] = source.reshape(-1)[:count]
        return made
