"""Places in sorted sequences, and membership."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import bool as bool_
from dovetail_kernel import dtype as DType
from dovetail_kernel import int32, int64

from ...meta.meta_array import MetaArray
from ...typing import Scalar
from .kernels.searching import check_values
from .kernels.triangles import count_of_triangle


def searchsorted(
    sorted_sequence: MetaArray, self: MetaArray, *, out_int32: bool = False, **_options: Any
) -> MetaArray:
    check_values(sorted_sequence, self)
    return MetaArray(self.shape, int32 if out_int32 else int64)


def searchsorted_number(
    sorted_sequence: MetaArray, self: Any, *, out_int32: bool = False, **_options: Any
) -> MetaArray:
    check_values(sorted_sequence, MetaArray((), sorted_sequence.dtype))
    return MetaArray((), int32 if out_int32 else int64)


def isin(elements: MetaArray, tests: Scalar, **_options: Any) -> MetaArray:
    return MetaArray(elements.shape, bool_)


def number_isin(element: Scalar, tests: MetaArray, **_options: Any) -> MetaArray:
    return MetaArray((), bool_)


def repeat_interleave(repeats: MetaArray, *, output_size: int | None = None) -> MetaArray:
    if output_size is None:
        raise NotImplementedError(
            "repeat_interleave() cannot be called on meta tensors, nor on lazy ones, without "
            "output_size: the number of places depends on values, which are not there. Give "
            "output_size=."
        )
    return MetaArray((output_size,), repeats.dtype)


def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: DType | None = None, **_options: Any
) -> MetaArray:
    count = count_of_triangle("tril_indices", row, col, offset, dtype, lower=True)
    return MetaArray((2, count), dtype or int64)


def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: DType | None = None, **_options: Any
) -> MetaArray:
    count = count_of_triangle("triu_indices", row, col, offset, dtype, lower=False)
    return MetaArray((2, count), dtype or int64)
