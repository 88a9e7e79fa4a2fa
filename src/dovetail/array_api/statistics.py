"""Sums, means and other reductions."""

from __future__ import annotations

from typing import Any, Final

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import bool as bool_
from dovetail_kernel import dtype as DType

from .data_types import check_kinds
from .manipulation import axes_of, concat
from .promotion import UNSIGNED, by_standard, sum_dtype

__all__ = [
    "all",
    "any",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]

_UNSIGNED: Final = frozenset(UNSIGNED)
"""Dtypes of sums that are uint64, which operators do not add."""


def _several(operator: Any, x: Tensor, axis: object, keepdims: bool) -> Tensor:
    """Return what an operator of one axis gives, one after the other."""
    for place in sorted(axes_of(x, axis), reverse=True):
        x = operator(x, place, keepdims)
    return x


def all(x: Tensor, /, *, axis: object = None, keepdims: bool = False) -> Tensor:
    """Return whether all elements are true or nonzero."""
    return _several(aten.all, x if x.dtype is bool_ else x.to(bool_), axis, keepdims)


def any(x: Tensor, /, *, axis: object = None, keepdims: bool = False) -> Tensor:
    """Return whether any element is true or nonzero."""
    return _several(aten.any, x if x.dtype is bool_ else x.to(bool_), axis, keepdims)


def _cumulated(
    operator: Any, x: Tensor, axis: int | None, dtype: DType | None, first: Any
) -> Tensor:
    if axis is None:
        if x.ndim > 1:
            raise ValueError("axis is required where the array has several dimensions.")
        axis = 0
    (place,) = axes_of(x, axis)
    wanted = sum_dtype(x) if dtype is None else dtype
    result: Tensor = operator(x.to(wanted), place)
    if first is None:
        return result
    shape = list(x.shape)
    shape[place] = 1
    before = aten.full(shape, first, dtype=wanted, device=x.device)
    return aten.cat([before, result], place)


@by_standard(dtypes=_UNSIGNED)
def cumulative_sum(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: object = False,
) -> Tensor:
    """Return the cumulative sums along an axis, optionally with a leading 0."""
    return _cumulated(aten.cumsum, x, axis, dtype, 0 if include_initial else None)


@by_standard(dtypes=_UNSIGNED)
def cumulative_prod(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: object = False,
) -> Tensor:
    """Return the cumulative products along an axis, optionally with a leading 1."""
    return _cumulated(aten.cumprod, x, axis, dtype, 1 if include_initial else None)


@by_standard()
def diff(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """Return the `n`-th differences along an axis."""
    parts = [each for each in (prepend, x, append) if each is not None]
    (place,) = axes_of(x, axis)
    return aten.diff(concat(parts, axis=place), n, place)


def _extremum(name: str, operator: Any, x: Tensor, axis: object, keepdims: bool) -> Tensor:
    check_kinds(name, ("bool", "integral", "real floating"), x)
    places = axes_of(x, axis)
    for each in places:
        if not x.shape[each]:
            raise ValueError(f"{name}: axis {each} has no elements, and hence no {name}.")
    return operator(x, places, keepdims) if places else x.clone()


@by_standard()
def max(x: Tensor, /, *, axis: object = None, keepdims: bool = False) -> Tensor:
    """Return the greatest elements."""
    return _extremum("max", aten.amax, x, axis, keepdims)


@by_standard()
def min(x: Tensor, /, *, axis: object = None, keepdims: bool = False) -> Tensor:
    """Return the smallest elements."""
    return _extremum("min", aten.amin, x, axis, keepdims)


def mean(x: Tensor, /, *, axis: object = None, keepdims: bool = False) -> Tensor:
    """Return the means."""
    check_kinds("mean", ("real floating", "complex floating"), x)
    places = axes_of(x, axis)
    return aten.mean(x, places, keepdims) if places else x.clone()


@by_standard(dtypes=_UNSIGNED)
def prod(
    x: Tensor, /, *, axis: object = None, dtype: DType | None = None, keepdims: bool = False
) -> Tensor:
    """Return the products; narrow integers give the default integer dtype."""
    x = x.to(sum_dtype(x) if dtype is None else dtype)
    return _several(aten.prod, x, axis, keepdims)


@by_standard(dtypes=_UNSIGNED)
def sum(
    x: Tensor, /, *, axis: object = None, dtype: DType | None = None, keepdims: bool = False
) -> Tensor:
    """Return the sums; narrow integers give the default integer dtype."""
    wanted = sum_dtype(x) if dtype is None else dtype
    places = axes_of(x, axis)
    return aten.sum(x, places, keepdims, dtype=wanted) if places else x.to(wanted, copy=True)


def _spread(name: str, x: Tensor, axis: object, correction: float, keepdims: bool) -> Tensor:
    check_kinds(name, "real floating", x)
    places = axes_of(x, axis)
    if not places:
        return aten.zeros_like(x) if not correction else x * float("nan")
    operator = aten.var if name == "var" else aten.std
    return operator(x, places, correction=correction, keepdim=keepdims)


def std(
    x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: Any = False
) -> Tensor:
    """Return the standard deviations: sums of squares are divided by the number of elements minus
    `correction`.
    """
    return _spread("std", x, axis, correction, keepdims)


def var(
    x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: Any = False
) -> Tensor:
    """Return the variances: sums of squares are divided by the number of elements minus
    `correction`.
    """
    return _spread("var", x, axis, correction, keepdims)
