"""Indexing, searching, sorting and unique elements."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import bool as bool_
from dovetail_kernel import int64

from .data_types import check_kinds
from .manipulation import axes_of, broadcast_shapes
from .promotion import by_standard, promoted

__all__ = [
    "argmax",
    "argmin",
    "argsort",
    "count_nonzero",
    "isin",
    "nonzero",
    "searchsorted",
    "sort",
    "take",
    "take_along_axis",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "where",
]


class UniqueAll(NamedTuple):
    """The values that an array has, where each is first, which each element is, and how many."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """The values that an array has, and how often."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """The values that an array has, and which of them each element is."""

    values: Tensor
    inverse_indices: Tensor


def _extreme(operator: Any, x: Tensor, axis: int | None, keepdims: bool) -> Any:
    check_kinds(operator.__name__, ("integral", "real floating"), x)
    if axis is None:
        found = operator(x)
        return found.reshape((1,) * x.ndim) if keepdims else found
    (place,) = axes_of(x, axis)
    found = operator(x, place, keepdims)
    return found


@by_standard()
def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the indices of the greatest elements; None flattens the array."""
    found: Tensor = _extreme(aten.argmax, x, axis, keepdims)
    return found


@by_standard()
def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the indices of the smallest elements; None flattens the array."""
    found: Tensor = _extreme(aten.argmin, x, axis, keepdims)
    return found


def argsort(
    x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """Return the indices that sort `x` along an axis."""
    check_kinds("argsort", ("bool", "integral", "real floating"), x)
    return aten.sort(x, dim=axis, descending=descending, stable=stable)[1]


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Return `x` sorted along an axis."""
    check_kinds("sort", ("bool", "integral", "real floating"), x)
    return aten.sort(x, dim=axis, descending=descending, stable=stable)[0]


def count_nonzero(x: Tensor, /, *, axis: object = None, keepdims: bool = False) -> Tensor:
    """Return the number of nonzero elements."""
    places = axes_of(x, axis)
    counted = (x if x.dtype is bool_ else x.to(bool_)).to(int64)
    return aten.sum(counted, places, keepdims) if places else counted


@by_standard()
def isin(x1: object, x2: object, /, *, invert: bool = False) -> Tensor:
    """Return which elements of `x1` are in `x2`."""
    first, second = promoted(x1, x2)
    check_kinds("isin", ("integral", "real floating"), first)
    return aten.isin(first, second, invert=invert)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """Return the indices of nonzero elements, by axis."""
    if not x.ndim:
        raise ValueError("nonzero of an array without dimensions is not defined. Reshape it.")
    return tuple(aten.nonzero(x if x.dtype is bool_ else x.to(bool_)).unbind(1))


@by_standard()
def searchsorted(
    x1: Tensor,
    x2: object,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: Tensor | None = None,
) -> Tensor:
    """Return the indices at which to insert `x2` into `x1`, which is sorted directly or by
    `sorter`.
    """
    first, second = promoted(x1, x2)
    check_kinds("searchsorted", ("integral", "real floating"), first)
    return aten.searchsorted(first, second.contiguous(), side=side, sorter=sorter)


@by_standard()
def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """Return the elements at indices along an axis."""
    if axis is None and x.ndim != 1:
        raise ValueError("take: axis is required where the array has not one dimension.")
    (place,) = axes_of(x, 0 if axis is None else axis)
    size = x.shape[place]
    flat = indices.to(int64).reshape(-1)
    taken = aten.index_select(x, place, aten.where(flat < 0, flat + size, flat))
    shape = (*x.shape[:place], *indices.shape, *x.shape[place + 1 :])
    return taken.reshape(shape)


@by_standard()
def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the elements at indices along an axis, matched along the other axes."""
    (place,) = axes_of(x, axis)
    places = indices.to(int64)
    places = aten.where(places < 0, places + x.shape[place], places)
    shapes = [list(each.shape) for each in (x, places)]
    for shape in shapes:
        shape[place] = 1
    beside = broadcast_shapes(*map(tuple, shapes))
    wide = [list(beside), list(beside)]
    for shape, each in zip(wide, (x, places), strict=True):
        shape[place] = each.shape[place]
    return aten.gather(x.broadcast_to(wide[0]), place, places.broadcast_to(wide[1]))


def unique_all(x: Tensor, /) -> UniqueAll:
    """Return the unique values, their first indices, the inverse indices, and their counts."""
    values, inverse, counts = _unique(x)
    count = inverse.numel()
    order = aten.arange(count - 1, -1, -1, device=x.device)
    # The last write is that of the first place.
    first = aten.empty(values.shape, dtype=int64, device=x.device)
    first[inverse.reshape(-1)[order]] = order
    return UniqueAll(values, first, inverse, counts)


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """Return the unique values and their counts."""
    values, _, counts = _unique(x)
    return UniqueCounts(values, counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """Return the unique values and the inverse indices."""
    values, inverse, _ = _unique(x)
    return UniqueInverse(values, inverse)


def unique_values(x: Tensor, /) -> Tensor:
    """Return the unique values."""
    return _unique(x)[0]


def _unique(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the values in order, which each element is, and how many: each NaN is one of its own,
    and zeros are equal.
    """
    if x.is_complex():
        return _unique_pairs(x)
    flat = x.reshape(-1)
    ordered, order = aten.sort(flat, stable=True)
    return _told_apart(x, ordered, order, [ordered])


def _unique_pairs(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    flat = x.reshape(-1)
    order = aten.sort(flat.imag, stable=True)[1]
    order = order[aten.sort(flat.real[order], stable=True)[1]]
    ordered = flat[order]
    return _told_apart(x, ordered, order, [ordered.real, ordered.imag])


def _told_apart(
    x: Tensor, ordered: Tensor, order: Tensor, keys: list[Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    count = ordered.shape[0]
    begins = aten.ones(count, dtype=bool_, device=x.device)
    if count > 1:
        differs = [aten.ne(each[1:], each[:-1]) for each in keys]
        begins[1:] = differs[0] if len(keys) == 1 else aten.logical_or(*differs)
    number = aten.cumsum(begins, 0) - 1
    inverse = aten.empty(count, dtype=int64, device=x.device)
    inverse[order] = number
    starts = aten.nonzero(begins).reshape(-1)
    ends = aten.cat([starts[1:], aten.full((1,) if count else (0,), count, device=x.device)])
    return ordered[starts], inverse.reshape(x.shape), (ends - starts).to(int64)


@by_standard()
def where(condition: Tensor, x1: object, x2: object, /) -> Tensor:
    """Return elements of `x1` where a condition is true, otherwise of `x2`."""
    first, second = promoted(x1, x2) if _is_any(x1, x2) else _numbers(condition, x1, x2)
    return aten.where(condition, first, second)


def _is_any(*values: Any) -> bool:
    return any([isinstance(each, Tensor) for each in values])


def _numbers(condition: Tensor, *numbers: Any) -> list[Tensor]:
    highest = aten.tensor(sum(numbers), device=condition.device).dtype
    return [aten.tensor(each, dtype=highest, device=condition.device) for each in numbers]
