"""Masks, and replacements for masked elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import bool as bool_
from dovetail_kernel import finfo, get_default_dtype, iinfo, int64

Dims = int | Sequence[int] | None


def filled(x: Tensor, mask: Tensor | None, nothing: float) -> Tensor:
    """Return `x` with a neutral number in place of what is masked."""
    return x if mask is None else aten.where(whole_mask(x, mask), x, x.new_full((), nothing))


def whole_mask(x: Tensor, mask: Tensor) -> Tensor:
    """Return a mask of the shape of `x`."""
    if mask.ndim > x.ndim:
        raise IndexError(
            "_input_mask expected broadcastable mask (got mask dimensionality higher than of the "
            "input). Reshape it."
        )
    whole: Tensor = mask.to(bool_).expand(x.shape)
    return whole


def count(x: Tensor, mask: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """Return how many elements are not masked."""
    return aten.sum(whole_mask(x, mask), dims, keepdim, dtype=int64)


def dims_of(x: Tensor, dim: Dims) -> tuple[int, ...]:
    """Return the dimensions of a reduction; none named means all."""
    if dim is None:
        return tuple(range(x.ndim))
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    return dims or tuple(range(x.ndim))


def converted(x: Tensor, dtype: Any) -> Tensor:
    return x if dtype is None else x.to(dtype)


def floating(x: Tensor) -> Tensor:
    inexact = x.dtype.is_floating_point or x.dtype.is_complex
    return x if inexact else x.to(get_default_dtype())


def least(x: Tensor) -> float:
    return -math.inf if x.dtype.is_floating_point else _limits(x).min


def greatest(x: Tensor) -> float:
    return math.inf if x.dtype.is_floating_point else _limits(x).max


def _limits(x: Tensor) -> Any:
    return finfo(x.dtype) if x.dtype.is_complex else iinfo(x.dtype)
