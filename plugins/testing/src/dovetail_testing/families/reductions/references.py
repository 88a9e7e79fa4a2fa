"""What reductions, scans and sorts give, from NumPy arrays: the references of their samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail_kernel import dtype as DType


def numpys(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return NumPy's function with PyTorch's argument names."""

    def reference(
        x: np.ndarray, dim: Any = None, keepdim: bool = False, dtype: object = None, **more: Any
    ) -> Any:
        if dim is not None and not isinstance(dim, int):
            dim = tuple(dim) or None
        if x.ndim == 0:
            dim = None
        return function(x, axis=dim, keepdims=keepdim, **more)

    return reference


def scanned(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, dim, dtype=None: function(x.reshape(x.shape or 1), axis=dim).reshape(x.shape)


def with_indices(values: Any, places: Any) -> Callable[..., Any]:
    return lambda x, dim=None, keepdim=False: (
        numpys(values)(x, dim, keepdim),
        numpys(places)(x, dim, keepdim),
    )


def deviation(function: Any) -> Callable[..., Any]:
    """Return NumPy's variance or deviation with PyTorch's overloads."""

    def reference(x: Any, dim: Any = None, *args: Any, **kwargs: Any) -> Any:
        names = ("unbiased", "keepdim")
        if isinstance(dim, bool):
            dim, args = None, (dim, *args)
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        correction = given.get("correction")
        if correction is None:
            correction = int(given.get("unbiased", True))
        return numpys(function)(x, dim, given.get("keepdim", False), ddof=correction)

    return reference


def vector_norm(
    x: np.ndarray,
    ord: Any = 2,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: DType | None = None,
) -> Any:
    ord = 2 if ord is None else ord
    return numpys(lambda x, **k: (np.abs(x) ** ord).sum(**k) ** (1 / ord))(x, dim, keepdim)


def logsumexp(x: np.ndarray, dim: object, keepdim: bool = False) -> Any:
    return numpys(lambda x, **k: np.log(np.exp(x).sum(**k)))(x, dim, keepdim)


def counted(x: np.ndarray, dim: object = None) -> Any:
    return numpys(np.count_nonzero)(x, dim)


def sorted_(x: np.ndarray, dim: int = -1, descending: bool = False) -> Any:
    order = order_of(x, dim, descending)
    rows = np.take_along_axis(x.reshape(x.shape or 1), order.reshape(x.shape or 1), dim)
    return rows.reshape(x.shape), order


def order_of(x: np.ndarray, dim: int = -1, descending: bool = False) -> Any:
    """Return the order of a stable sort."""
    rows = x.reshape(x.shape or 1)
    if not descending:
        return np.argsort(rows, axis=dim, kind="stable").reshape(x.shape)
    ranks = np.unique(rows, return_inverse=True)[1].reshape(rows.shape)
    return np.argsort(-ranks, axis=dim, kind="stable").reshape(x.shape)


def largest(x: np.ndarray, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    values, order = sorted_(x, dim, largest)
    if x.ndim == 0:
        return values, order
    chosen = np.arange(k)
    return values.take(chosen, dim), order.take(chosen, dim)


def summed_to(x: Any, size: Any) -> Any:
    dims = tuple(range(x.ndim - len(size)))
    x = x.sum(dims) if dims else x
    ones = tuple([i for i, n in enumerate(size) if n == 1 and x.shape[i] != 1])
    return x.sum(ones, keepdims=True) if ones else x


def selected_backward(grad: Any, dim: int, index: np.ndarray, sizes: Any, keepdim: bool) -> Any:
    result = np.zeros(sizes, grad.dtype)
    if not keepdim:
        grad, index = np.expand_dims(grad, dim), np.expand_dims(index, dim)
    np.put_along_axis(result, index.astype(int), grad, dim)
    return result
