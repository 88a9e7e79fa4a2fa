"""Places of the elements of triangles of matrices."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import dtype as DType
from dovetail_kernel import int32, int64

from .family import Family, operator


def count_of_triangle(
    name: str, row: int, col: int, offset: int, dtype: DType | None, *, lower: bool
) -> int:
    """Return how many elements a triangle of a matrix has.

    Raises
    ------
    RuntimeError
        For a negative size.
    NotImplementedError
        For a dtype that places are not counted in.
    """
    for side, size in (("row", row), ("col", col)):
        if size < 0:
            raise RuntimeError(f"{side} must be non-negative, got {size}. Give 0 or more.")
    if dtype not in (None, int32, int64):
        raise NotImplementedError(
            f"\"{name}\" not implemented for '{dtype.scalar_name}'. Ask for int64 or int32."
        )
    if not lower:
        rest = sum([min(max(place + offset, 0), col) for place in range(row)])
        return row * col - rest
    return sum([min(max(place + offset + 1, 0), col) for place in range(row)])


class Triangles(Family):
    """Places in triangles of matrices."""

    def _places(
        self, name: str, row: int, col: int, offset: int, dtype: Any, *, lower: bool
    ) -> Any:
        """Return rows and columns of the elements of a triangle, row by row."""
        xp = self.xp
        kind = None if dtype is None else self.dtypes[dtype]
        count = count_of_triangle(name, row, col, offset, kind, lower=lower)
        rows, columns = xp.arange(row, dtype=xp.int64), xp.arange(col, dtype=xp.int64)
        distance = columns[None, :] - rows[:, None]
        outside = distance > offset if lower else distance < offset
        # The elements of the triangle come first, in their order.
        order = xp.argsort(xp.reshape(outside, (-1,)), axis=0, stable=True)[:count]
        size = max(col, 1)
        return xp.stack([order // size, order % size], axis=0).astype(dtype or xp.int64)

    @operator("tril_indices")
    def tril_indices(
        self, row: int, col: int, offset: int = 0, *, dtype: Any = None, **options: Any
    ) -> Any:
        """Return the places of the elements on a diagonal and below."""
        return self._places("tril_indices", row, col, offset, dtype, lower=True)

    @operator("triu_indices")
    def triu_indices(
        self, row: int, col: int, offset: int = 0, *, dtype: Any = None, **options: Any
    ) -> Any:
        """Return the places of the elements on a diagonal and above."""
        return self._places("triu_indices", row, col, offset, dtype, lower=False)
