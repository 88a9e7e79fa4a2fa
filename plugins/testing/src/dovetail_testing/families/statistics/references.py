"""What statistics give, from NumPy arrays: the references of their samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..reductions.references import deviation, numpys


def _ranked(x: np.ndarray, rank: np.ndarray, dim: int, keepdim: bool) -> tuple[Any, Any]:
    """Return the elements of a rank along a dimension, and where they are."""
    rows = x.reshape(x.shape or 1)
    order = np.argsort(rows, axis=dim, kind="stable")
    place = np.take_along_axis(order, np.broadcast_to(rank, rank.shape), dim)
    found = np.take_along_axis(rows, place, dim), place
    if not x.ndim:
        return found[0].reshape(()), found[1].reshape(())
    return found if keepdim else (found[0].squeeze(dim), found[1].squeeze(dim))


def _nans(x: np.ndarray, dim: int) -> Any:
    rows = x.reshape(x.shape or 1)
    return np.isnan(rows.astype(np.float64)).sum(dim, keepdims=True), rows.shape[dim]


def median(x: np.ndarray, dim: int, keepdim: bool = False) -> Any:
    nans, size = _nans(x, dim)
    return _ranked(x, np.where(nans > 0, size - nans, (size - 1) // 2), dim, keepdim)


def nanmedian(x: np.ndarray, dim: int, keepdim: bool = False) -> Any:
    nans, size = _nans(x, dim)
    return _ranked(x, np.maximum(size - nans - 1, 0) // 2, dim, keepdim)


def kthvalue(x: np.ndarray, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    nans, _ = _nans(x, dim)
    return _ranked(x, np.full_like(nans, k - 1), dim, keepdim)


def middle(x: np.ndarray) -> Any:
    """Return the lower median of all elements."""
    if not x.size:
        return np.array(np.nan)
    return median(x.reshape(-1), 0)[0]


def nanmiddle(x: np.ndarray) -> Any:
    return nanmedian(x.reshape(-1), 0)[0] if x.size else np.array(np.nan)


def mode(x: np.ndarray, dim: int = -1, keepdim: bool = False) -> Any:
    """Return the most frequent elements, by counting, and their last places."""
    rows = x.reshape(x.shape or 1)
    counts = np.expand_dims(rows, dim % rows.ndim + 1)
    counts = (counts == np.expand_dims(rows, dim % rows.ndim)).sum(dim % rows.ndim + 1)
    frequent = counts == counts.max(dim, keepdims=True, initial=0)
    least = np.where(frequent, rows.astype(np.float64), np.inf).min(dim, keepdims=True)
    place = np.where(rows == least, _along(rows, dim), 0).max(dim, keepdims=True)
    found = np.take_along_axis(rows, place, dim), place
    if not x.ndim:
        return found[0].reshape(()), found[1].reshape(())
    return found if keepdim else (found[0].squeeze(dim), found[1].squeeze(dim))


def _along(x: np.ndarray, dim: int) -> Any:
    """Return the number of each element along a dimension."""
    shape = [1] * x.ndim
    shape[dim] = x.shape[dim]
    return np.arange(x.shape[dim]).reshape(shape)


def running(ufunc: Any) -> Any:
    """Return the reference of a running extremum."""

    def reference(x: np.ndarray, dim: int) -> Any:
        rows = x.reshape(x.shape or 1)
        values = ufunc.accumulate(rows, dim)
        reached = (rows == values) | (rows != rows)
        places = np.maximum.accumulate(np.where(reached, _along(rows, dim), 0), dim)
        return values.reshape(x.shape), places.reshape(x.shape)

    return reference


def logcumsumexp(x: np.ndarray, dim: int) -> Any:
    return np.log(np.cumsum(np.exp(x.reshape(x.shape or 1)), dim)).reshape(x.shape)


def with_mean(function: object) -> Any:
    """Return NumPy's variance or deviation, and the mean."""
    spread = deviation(function)

    def reference(x: np.ndarray, dim: int | None = None, *args: Any, **kwargs: Any) -> Any:
        keepdim = kwargs.get("keepdim", args[1] if len(args) > 1 else False)
        over = None if isinstance(dim, bool) else dim
        return spread(x, dim, *args, **kwargs), numpys(np.mean)(x, over, keepdim)

    return reference


def aminmax(x: np.ndarray, dim: object = None, keepdim: bool = False) -> Any:
    return numpys(np.min)(x, dim, keepdim), numpys(np.max)(x, dim, keepdim)


def nonzero_static(x: np.ndarray, size: int, fill_value: int = -1) -> Any:
    found = np.argwhere(x)[:size]
    rest = np.full((size - len(found), x.ndim), fill_value)
    return np.concatenate([found, rest])


def tested(function: Any) -> Any:
    """Return NumPy's all or any over dimensions, of which none given means none."""

    def reference(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if dim is not None and not len(dim):
            return x != 0
        return numpys(function)(x, dim, keepdim)

    return reference
