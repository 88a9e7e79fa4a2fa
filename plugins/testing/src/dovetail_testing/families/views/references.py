"""What views give, from NumPy arrays: the references of their samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail_aten.typing import Scalar


def permuted(x: np.ndarray, dims: Sequence[int]) -> Any:
    return np.transpose(x, dims)


def as_strided(x: np.ndarray, size: Any, stride: Any, offset: object = None) -> Any:
    flat = np.ascontiguousarray(x).reshape(-1)[offset or 0 :]
    strides = [step * flat.itemsize for step in stride]
    return np.lib.stride_tricks.as_strided(flat, size, strides)


def sliced(
    x: np.ndarray,
    dim: int = 0,
    start: Scalar | None = None,
    end: Scalar | None = None,
    step: int = 1,
) -> Any:
    return x[(slice(None),) * (dim % x.ndim) + (slice(start, end, step),)]


def selected(x: np.ndarray, dim: int, index: int) -> Any:
    return np.take(x, index, dim)


def narrowed(x: np.ndarray, dim: int, start: int, length: int) -> Any:
    start = start if start >= 0 else start + x.shape[dim]
    return sliced(x, dim, start, start + length)


def put_back(place: Callable[..., Any]) -> Callable[..., Any]:
    """Return the reference of a gradient: zeros, with the gradient in place of the view."""

    def reference(grad: Any, sizes: Any, *args: Any) -> Any:
        result = np.zeros(sizes, grad.dtype)
        flat = place(np.arange(result.size).reshape(sizes), *args)
        result.reshape(-1)[flat.reshape(-1)] = grad.reshape(-1)
        return result

    return reference


def split(x: np.ndarray, size: int | Sequence[int], dim: int = 0) -> Any:
    if isinstance(size, int):
        size = [size] * (x.shape[dim] // size) + [x.shape[dim] % size] * (x.shape[dim] % size > 0)
        size = size or [0]
    return np.split(x, np.cumsum(size)[:-1], dim)


def chunk(x: Any, chunks: int, dim: int = 0) -> Any:
    if x.shape[dim] == 0:
        return [x] * chunks
    return split(x, max(1, -(-x.shape[dim] // chunks)), dim)


def expanded(x: np.ndarray, size: Sequence[int]) -> Any:
    shape = (1,) * (len(size) - x.ndim) + x.shape
    return np.broadcast_to(x, [n if s == -1 else s for n, s in zip(shape, size, strict=True)])


def squeezed(x: np.ndarray, dim: int | Sequence[int] | None = None) -> Any:
    if dim is None:
        return np.squeeze(x)
    dims = [dim] if isinstance(dim, int) else dim
    return np.squeeze(x, tuple([d for d in dims if x.ndim and x.shape[d] == 1]))


def flattened(x: np.ndarray, start: int = 0, end: int = -1) -> Any:
    if x.ndim == 0:
        return x.reshape(1)
    start, end = start % x.ndim, end % x.ndim
    return x.reshape(*x.shape[:start], -1, *x.shape[end + 1 :])


def unflattened(x: Any, dim: int, sizes: Any) -> Any:
    dim %= x.ndim
    return x.reshape(*x.shape[:dim], *sizes, *x.shape[dim + 1 :])


def of_matrices(function: Callable[..., object]) -> Callable[..., Any]:
    return lambda x: function(x) if x.ndim > 1 else x
