"""Places of the elements of triangles of matrices."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import dtype as DType
from dovetail_kernel import int32, int64
from dovetail_kernel.typing import NativeDtype

from ....kernel_support.dims import check_size, clamp_diagonal
from ....kernel_support.family import Family, operator


def count_of_triangle(
    name: str, row: int, col: int, offset: int, dtype: DType | None, *, lower: bool
) -> int:
    """Return how many elements a triangle of a matrix has. Raises RuntimeError for a negative size,
    and NotImplementedError for a dtype that places are not counted in.
    """
    for side, size in (("row", row), ("col", col)):
        if size < 0:
            raise RuntimeError(f"{side} must be non-negative, got {size}. Give 0 or more.")
    if dtype not in (None, int32, int64):
        raise NotImplementedError(
            f"\"{name}\" not implemented for '{dtype.scalar_name}'. Ask for int64 or int32."
        )
    count = (
        _lower_count(row, col, offset) if lower else row * col - _lower_count(row, col, offset - 1)
    )
    return check_size((2, count), 8)[1]


def _lower_count(row: int, col: int, offset: int) -> int:
    """Return how many elements a matrix has on a diagonal and below: rows that grow by one, and
    below them whole ones.
    """
    offset = clamp_diagonal(offset, row, col)
    first = max(0, -offset)
    growing = min(max(col - offset - 1 - first, 0), row - first)
    whole = row - first - growing
    return growing * (first + offset + 1) + growing * (growing - 1) // 2 + whole * col


class Triangles(Family):
    """Places in triangles of matrices."""

    def _places(
        self, name: str, row: int, col: int, offset: int, dtype: NativeDtype | None, *, lower: bool
    ) -> Any:
        """Return rows and columns of the elements of a triangle, row by row."""
        xp = self.xp
        kind = None if dtype is None else self.dtypes[dtype]
        count = count_of_triangle(name, row, col, offset, kind, lower=lower)
        offset = clamp_diagonal(offset, row, col)
        # About half of the part of the matrix that has elements of the triangle are outside.
        if lower:
            top, left, height, width = max(0, -offset), 0, row, min(col, row + offset)
        else:
            top, left, height, width = 0, max(0, offset), min(row, col - offset), col
        height, width = max(height - top, 0), max(width - left, 0)
        if not count:
            height = width = 0
        bound = offset + top - left
        rows, columns = xp.arange(height, dtype=xp.int64), xp.arange(width, dtype=xp.int64)
        ends = (rows + bound if bound else rows)[:, None]
        rows, columns = xp.nonzero(columns <= ends if lower else columns >= ends)
        rows, columns = rows + top if top else rows, columns + left if left else columns
        return xp.stack([rows, columns], axis=0).astype(dtype or xp.int64, copy=False)

    @operator("tril_indices")
    def tril_indices(
        self,
        row: int,
        col: int,
        offset: int = 0,
        *,
        dtype: NativeDtype | None = None,
        **options: Any,
    ) -> Any:
        """Return the places of the elements on a diagonal and below."""
        return self._places("tril_indices", row, col, offset, dtype, lower=True)

    @operator("triu_indices")
    def triu_indices(
        self,
        row: int,
        col: int,
        offset: int = 0,
        *,
        dtype: NativeDtype | None = None,
        **options: Any,
    ) -> Any:
        """Return the places of the elements on a diagonal and above."""
        return self._places("triu_indices", row, col, offset, dtype, lower=False)
