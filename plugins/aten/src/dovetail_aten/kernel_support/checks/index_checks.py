"""What operators that index along one dimension check of their arguments."""

from __future__ import annotations

from functools import partial
from typing import Any

from dovetail_kernel import int32, int64

from ...typing import Array
from ..dims import wrap_dim
from ..family import Family

_ALL = slice(None)


class PlacesAlong(Family):
    """Checks of index vectors and index arrays along a dimension."""

    def _check_vector(self, name: str, index: Array) -> None:
        """Raise an error for an index that is not a vector of int32 or int64."""
        if index.ndim > 1:
            raise IndexError(
                f"{name}(): Index is supposed to be a vector, but has {index.ndim} dimensions"
            )
        if self.dtypes[index.dtype] not in (int32, int64):
            raise RuntimeError(
                f"{name}(): Expected dtype int32 or int64 for index, but got "
                f"{self.dtypes[index.dtype].scalar_name}"
            )

    def _in_range(self, index: Array, size: int) -> Any:
        """Return `index`, after refusing what is out of range."""
        return self.checked_places(index, 0, size, partial(_not_in_self, size))

    def _index_along(self, name: str, x: Array, index: Array, axis: int) -> Any:
        """Return `index`, after refusing a wrong rank or dtype, and what is out of range."""
        if self.dtypes[index.dtype] not in (int32, int64):
            raise RuntimeError(
                f"{name}(): Expected dtype int32/int64 for index, but got "
                f"{self.dtypes[index.dtype].scalar_name}"
            )
        if max(index.ndim, 1) != max(x.ndim, 1):
            raise RuntimeError(
                "Index tensor must have the same number of dimensions as input tensor"
            )
        size = x.shape[axis] if x.ndim else 1
        return self.checked_places(index, 0, size, partial(_out_of_bounds, axis, size))

    def _check_slices(
        self, name: str, x: Array, dim: int, index: Array, source: Array
    ) -> tuple[int, Any]:
        """Raise an error for slices of `source` that cannot be combined with those of `x` at
        `index`; return the dimension, counted from 0, and the index as a vector.
        """
        self._check_vector(name, index)
        axis = wrap_dim(dim, x.ndim)
        if x.dtype != source.dtype:
            raise RuntimeError(
                f"{name}(): self ({self.dtypes[x.dtype].scalar_name}) and source "
                f"({self.dtypes[source.dtype].scalar_name}) must have the same scalar type. "
                "Convert one."
            )
        index = self.xp.reshape(index, (-1,))
        if source.ndim and axis >= source.ndim:
            raise RuntimeError(
                f"{name}(): Indexing dim {axis} is out of bounds of the source tensor with dim "
                f"{source.ndim}. Give one of as many dimensions as self."
            )
        along = source.shape[axis] if source.ndim else 1
        expected = list(x.shape)
        if x.ndim:
            expected[axis] = along
        if list(source.shape) != expected and (x.ndim or source.ndim):
            raise RuntimeError(
                "source tensor shape must match self tensor shape, excluding the specified "
                f"dimension. Got self.shape = {list(x.shape)} source.shape = {list(source.shape)}"
            )
        if index.size != along:
            raise RuntimeError(
                f"{name}(): Number of indices ({index.size}) should be equal to source.size(dim): "
                f"({along}), for dim: {dim}"
            )
        size = x.shape[axis] if x.ndim else 1
        if name == "index_add_" and x.ndim > 1 and axis in (0, x.ndim - 1):  # a loop of its own
            return axis, self.checked_places(index, 0, size, partial(_out_of_bounds, axis, size))
        return axis, self._in_range(index, size)

    def _lined_up(
        self, name: str, x: Array, dim: int, index: Array, source: Any
    ) -> tuple[Any, int, Any, Any]:
        """Return `x` in C order, the dimension, the index and the part of `source`, or the number,
        that it is about: arrays of at least one dimension, unless the index has no elements.
        """
        axis = wrap_dim(dim, x.ndim)
        is_array = hasattr(source, "dtype")
        if is_array and source.dtype != x.dtype:
            raise RuntimeError(
                f"{name}(): Expected self.dtype to be equal to src.dtype. Convert one of them."
            )
        x = self.capabilities.contiguous(x)
        if not index.size:
            return x, axis, index, source
        index = self._index_along(name, x, index, axis)
        if is_array and max(source.ndim, 1) != max(index.ndim, 1):
            raise RuntimeError(
                "Index tensor must have the same number of dimensions as src tensor. Reshape one "
                "of them."
            )
        sizes = [
            (n, size)
            for d, (n, size) in enumerate(zip(index.shape, x.shape, strict=False))
            if d != axis
        ]
        if is_array:
            sizes += zip(index.shape, source.shape or (1,), strict=False)
        if any([n > size for n, size in sizes]):
            raise RuntimeError(
                f"Expected index {list(index.shape)} to be no larger than self {list(x.shape)} "
                f"apart from dimension {axis}"
                + (f" and to be no larger size than src {list(source.shape)}" if is_array else "")
            )
        if not x.ndim or not index.ndim:
            x, index = self.xp.reshape(x, (-1,)), self.xp.reshape(index, (-1,))
        if not is_array:
            return x, axis, index, self.numbers.fitting(x, source)
        source = source if source.ndim else self.xp.reshape(source, (-1,))
        return x, axis, index, source[tuple([slice(n) for n in index.shape])]


def _not_in_self(size: int, index: Array) -> Exception:
    return IndexError(f"index out of range in self: {int(index)} is not in [0, {size})")


def _out_of_bounds(axis: int, size: int, index: Array) -> Exception:
    return RuntimeError(
        f"index {int(index)} is out of bounds for dimension {axis} with size {size}"
    )
