"""Creation of arrays."""

from __future__ import annotations

import math
from typing import Any, Literal

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import DeviceLike, get_default_dtype, int64
from dovetail_kernel import bool as bool_
from dovetail_kernel import dtype as DType

from .promotion import by_standard, default_complex

__all__ = [
    "arange",
    "asarray",
    "e",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "inf",
    "linspace",
    "meshgrid",
    "nan",
    "newaxis",
    "ones",
    "ones_like",
    "pi",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]

Shape = int | tuple[int, ...]


def _sizes(shape: Any) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def asarray(
    obj: object,
    /,
    *,
    dtype: DType | None = None,
    device: DeviceLike | None = None,
    copy: bool | None = None,
) -> Tensor:
    """Return numbers, nested sequences or another library's array as an array.

    `copy`: True always copies, False raises a ValueError if a copy is necessary, and None copies if
    necessary.
    """
    return aten.asarray(obj, dtype=dtype, device=device, copy=copy)


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType | None = None,
    device: Any = None,
) -> Tensor:
    """Return numbers from `start` up to `stop` (exclusive); from 0 if `stop` is omitted."""
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("arange: step must not be 0.")
    if dtype is None:
        whole = all([isinstance(each, int) for each in (start, stop, step)])
        dtype = int64 if whole else get_default_dtype()
    if (stop - start) / step <= 0:
        return aten.empty((0,), dtype=dtype, device=device)
    return aten.arange(start, stop, step, dtype=dtype, device=device)


def empty(shape: Shape, *, dtype: DType | None = None, device: Any = None) -> Tensor:
    """Return an uninitialized array."""
    return aten.empty(_sizes(shape), dtype=dtype, device=device)


def empty_like(x: Tensor, /, *, dtype: DType | None = None, device: Any = None) -> Tensor:
    """Return an uninitialized array of the shape of `x`."""
    return aten.empty_like(x, dtype=dtype, device=device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType | None = None,
    device: Any = None,
) -> Tensor:
    """Return a matrix with ones on the `k`-th diagonal."""
    columns = n_rows if n_cols is None else n_cols
    rows = aten.arange(n_rows, device=device).unsqueeze(1)
    places = aten.arange(columns, device=device).unsqueeze(0)
    ones: Tensor = aten.eq(places - rows, k)
    made: Tensor = ones.to(get_default_dtype() if dtype is None else dtype)
    return made


def from_dlpack(
    x: object, /, *, device: DeviceLike | None = None, copy: bool | None = None
) -> Tensor:
    """Return another library's array that has ``__dlpack__``."""
    return aten.from_dlpack(x, device=device, copy=copy)


def _dtype_of_number(value: object) -> DType:
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    return default_complex() if isinstance(value, complex) else get_default_dtype()


def full(
    shape: Shape, fill_value: complex, *, dtype: DType | None = None, device: Any = None
) -> Tensor:
    """Return an array filled with a number, by default in the default dtype of its kind."""
    wanted = _dtype_of_number(fill_value) if dtype is None else dtype
    return aten.full(_sizes(shape), fill_value, dtype=wanted, device=device)


def full_like(
    x: Tensor, /, fill_value: complex, *, dtype: DType | None = None, device: Any = None
) -> Tensor:
    """Return an array of the shape of `x` filled with a number."""
    return aten.full_like(x, fill_value, dtype=dtype, device=device)


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: Any = None,
    endpoint: bool = True,
) -> Tensor:
    """Return `num` evenly spaced numbers from `start` to `stop`, inclusive or exclusive."""
    ends: tuple[Any, Any] = (start, stop)
    is_complex = any([isinstance(each, complex) for each in ends])
    wanted = (default_complex() if is_complex else get_default_dtype()) if dtype is None else dtype
    if endpoint or not num:
        return aten.linspace(*ends, num, dtype=wanted, device=device)
    made: Tensor = aten.linspace(*ends, num + 1, dtype=wanted, device=device)[:-1]
    return made


def meshgrid(*arrays: Tensor, indexing: Literal["xy", "ij"] = "xy") -> tuple[Tensor, ...]:
    """Return the coordinates of a grid from the coordinates along each axis."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing has to be 'xy' or 'ij', not {indexing!r}.")
    if len({each.dtype for each in arrays}) > 1:
        raise ValueError("meshgrid: all arrays must have one dtype. Convert them with astype.")
    return tuple(aten.meshgrid(list(arrays), indexing=indexing)) if arrays else ()


def ones(shape: Shape, *, dtype: DType | None = None, device: Any = None) -> Tensor:
    """Return an array of ones."""
    return aten.ones(_sizes(shape), dtype=dtype, device=device)


def ones_like(x: Tensor, /, *, dtype: DType | None = None, device: Any = None) -> Tensor:
    """Return an array of ones of the shape of `x`."""
    return aten.ones_like(x, dtype=dtype, device=device)


@by_standard()
def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return the lower triangle of matrices, up to the `k`-th diagonal."""
    return aten.tril(x, k)


@by_standard()
def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return the upper triangle of matrices, from the `k`-th diagonal on."""
    return aten.triu(x, k)


def zeros(shape: Shape, *, dtype: DType | None = None, device: Any = None) -> Tensor:
    """Return an array of zeros."""
    return aten.zeros(_sizes(shape), dtype=dtype, device=device)


def zeros_like(x: Tensor, /, *, dtype: DType | None = None, device: Any = None) -> Tensor:
    """Return an array of zeros of the shape of `x`."""
    return aten.zeros_like(x, dtype=dtype, device=device)


e, inf, nan, pi, newaxis = math.e, math.inf, math.nan, math.pi, None
