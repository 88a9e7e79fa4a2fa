"""Distinct elements and slices."""

from __future__ import annotations

from typing import Any

from ....kernel_support.argsort import Sorted
from ....kernel_support.dims import wrap_dim
from ....kernel_support.family import operator
from ....typing import Array


class Distinct(Sorted):
    """Distinct elements and slices, with inverse indices and counts."""

    def _empty_places(self) -> Any:
        """Return the places that were not asked for."""
        return self.xp.zeros((0,), dtype=self.xp.int64)

    def _starts(self, rows: Array) -> Any:
        """Return where a row differs from the one before; NaN differs from everything."""
        xp = self.xp
        differs = rows[1:] != rows[:-1]
        if rows.ndim > 1:
            differs = xp.any(differs, axis=tuple(range(1, rows.ndim)))
        return xp.concatenate([xp.ones((min(1, rows.shape[0]),), dtype=xp.bool_), differs], axis=0)

    def _distinct(self, rows: Any, order: Any, grouped: bool = True) -> tuple[Any, Any, Any]:
        """Return the rows without repetition, for each its group if they are `grouped`, and the
        sizes of the groups; equal ones lie beside each other in the given order.
        """
        xp = self.xp
        rows = rows if order is None else xp.take(rows, order, axis=0)
        starts, groups = self._starts(rows), self._empty_places()
        if grouped:
            groups = xp.cumsum(starts, axis=0, dtype=xp.int64) - 1
        if grouped and order is not None:
            groups = xp.take(groups, xp.argsort(order, axis=0, stable=True), axis=0)
        (places,) = xp.nonzero(starts)
        ends = xp.concatenate([places[1:], xp.asarray([rows.shape[0]])], axis=0)
        return xp.take(rows, places, axis=0), groups, ends[: places.shape[0]] - places

    @operator("_unique2")
    def unique(
        self, x: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
    ) -> tuple[Any, Any, Any]:
        """Return the sorted distinct elements, the index of each element among them, and their
        counts.
        """
        rows = self.xp.reshape(x, (-1,))
        found, groups, counts = self._distinct(rows, self._order(rows, 0, False), return_inverse)
        return (
            found,
            self.xp.reshape(groups, x.shape) if return_inverse else self._empty_places(),
            counts if return_counts else self._empty_places(),
        )

    @operator("unique_consecutive")
    def unique_consecutive(
        self,
        x: Array,
        return_inverse: bool = False,
        return_counts: bool = False,
        dim: int | None = None,
    ) -> tuple[Any, Any, Any]:
        """Return the elements, or slices along `dim`, that differ from the previous one, the index
        of each element among them, and the counts.
        """
        if dim is not None:
            return self.unique_dim_consecutive(x, dim, return_inverse, return_counts)
        found, groups, counts = self._distinct(self.xp.reshape(x, (-1,)), None, return_inverse)
        return (
            found,
            self.xp.reshape(groups, x.shape) if return_inverse else self._empty_places(),
            counts if return_counts else self._empty_places(),
        )

    def _slices(self, x: Array, dim: int) -> tuple[int, Any]:
        """Return a dimension, and the slices along it as rows."""
        if not x.ndim:
            raise IndexError(
                f"Dimension specified as {dim} but tensor has no dimensions. Leave out `dim`."
            )
        axis = wrap_dim(dim, x.ndim)
        if any([not size for each, size in enumerate(x.shape) if each != axis]):
            raise RuntimeError(
                "There are 0 sized dimensions, and they aren't selected, so unique cannot be "
                "applied. Select the dimension without elements."
            )
        return axis, self._moved(x, axis, 0)

    def _moved(self, x: Array, source: int, target: int) -> Any:
        """Return an array with one dimension at another place."""
        order = [dim for dim in range(x.ndim) if dim != source]
        order.insert(target, source)
        return x.transpose(order)

    @operator("unique_dim")
    def unique_dim(
        self,
        x: Array,
        dim: int,
        sorted: bool = True,
        return_inverse: bool = False,
        return_counts: bool = False,
    ) -> tuple[Any, Any, Any]:
        """Return the sorted distinct slices along `dim`, the index of each slice among them, and
        their counts.
        """
        axis, rows = self._slices(x, dim)
        size = rows.shape[0]
        if size:
            keys = self.xp.reshape(self._sortable(rows), (size, -1))
            order = self.xp.lexsort(self.xp.flip(keys.T, axis=0))
        else:
            order = self._empty_places()
        return self._of_slices(x, axis, *self._distinct(rows, order))

    @operator("unique_dim_consecutive")
    def unique_dim_consecutive(
        self, x: Array, dim: int, return_inverse: bool = False, return_counts: bool = False
    ) -> tuple[Any, Any, Any]:
        """Return the slices along `dim` that differ from the previous one, the index of each slice
        among them, and the counts.
        """
        axis, rows = self._slices(x, dim)
        return self._of_slices(x, axis, *self._distinct(rows, None))

    def _of_slices(
        self, x: Array, axis: int, found: object, groups: object, counts: object
    ) -> tuple[Any, Any, Any]:
        """Return slices that were rows as they lie in the array: each stays one piece of memory, as
        in PyTorch.
        """
        return self._moved(self.ordered(found), 0, axis), groups, counts
