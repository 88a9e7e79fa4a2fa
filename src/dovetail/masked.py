"""Reductions and normalizations that leave masked elements out, as ``torch.masked``.

Every function takes `mask`, a tensor of bools that broadcasts to the input: what is False is left
out. Default: nothing is. Where everything is left out, a result is the neutral element of the
operator, or NaN if there is none.

`dim` is a dimension or several, and by default all; `keepdim` says whether they become 1 instead of
going; `dtype` is that of the result, to which the input is converted first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_dispatcher import overridable
from dovetail_kernel import bool as bool_
from dovetail_kernel import finfo, get_default_dtype, iinfo, int64

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]

Dims = int | Sequence[int] | None


# -- reductions ------------------------------------------------------------------------------------


@overridable
def sum(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the sums over `dim` of the elements that are not masked; 0 where there are none.
    Integers are summed up in int64.
    """
    return aten.sum(_filled(input, mask, 0), _dims(input, dim), keepdim, dtype=dtype)


@overridable
def prod(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the products over `dim` of the elements that are not masked; 1 where there are none.
    Integers are multiplied in int64.
    """
    result = _filled(input, mask, 1)
    if not input.ndim:
        return aten.prod(result, dtype=dtype)
    for each in sorted(_dims(input, dim), reverse=True):
        result = aten.prod(result, each, keepdim, dtype=dtype)
    return result


@overridable
def amax(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the greatest elements over `dim` that are not masked; minus infinity, or the least
    integer, where there are none.
    """
    x = _converted(input, dtype)
    return aten.amax(_filled(x, mask, _least(x)), _dims(input, dim), keepdim)


@overridable
def amin(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the least elements over `dim` that are not masked; infinity, or the greatest integer,
    where there are none.
    """
    x = _converted(input, dtype)
    return aten.amin(_filled(x, mask, _greatest(x)), _dims(input, dim), keepdim)


@overridable
def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the places along `dim` of the greatest elements that are not masked, in the dtype of
    the input as PyTorch has it; without `dim`, in the flattened tensor.
    """
    x = _converted(input, dtype)
    places: Tensor = aten.argmax(_filled(x, mask, _least(x)), dim, keepdim).to(x.dtype)
    return places


@overridable
def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the places along `dim` of the least elements that are not masked, in the dtype of the
    input as PyTorch has it; without `dim`, in the flattened tensor.
    """
    x = _converted(input, dtype)
    places: Tensor = aten.argmin(_filled(x, mask, _greatest(x)), dim, keepdim).to(x.dtype)
    return places


@overridable
def mean(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the means over `dim` of the elements that are not masked; NaN where there are none.

    Raises
    ------
    ValueError
        For integers without `dtype`.
    """
    x = _converted(input, dtype)
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        raise ValueError(
            "mean(): Could not infer output dtype. Input dtype must be either a floating point or "
            f"complex dtype. Got: {x.dtype}. Give dtype=."
        )
    dims = _dims(input, dim)
    if mask is None:
        return aten.mean(x, dims, keepdim)
    return aten.sum(_filled(x, mask, 0), dims, keepdim) / _count(x, mask, dims, keepdim)


@overridable
def median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the medians along `dim` of the elements that are not masked, the lower of two; NaN
    where there are none.

    Raises
    ------
    ValueError
        For integers with a mask: they have no NaN.
    """
    x = _converted(input, dtype)
    if mask is None:
        return aten.median(x, dim, keepdim).values
    if not x.dtype.is_floating_point:
        raise ValueError(
            "masked median expects no fully masked out rows if dtype is not floating point. "
            "Convert the tensor first."
        )
    return aten.nanmedian(_filled(x, mask, math.nan), dim, keepdim).values


@overridable
def norm(
    input: Tensor,
    ord: float = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the norms of order `ord` over `dim` of the elements that are not masked."""
    x = _converted(input, dtype)
    nothing = math.inf if ord < 0 else 0
    return aten.norm(_filled(x, mask, nothing), ord, _dims(input, dim), keepdim)


@overridable
def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the variances over `dim` of the elements that are not masked: the sums of the squared
    distances from the mean, divided by the number of elements less `correction`, by default 1.

    Raises
    ------
    RuntimeError
        If both `unbiased` and `correction` are given.
    """
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask)


@overridable
def std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the roots of `var`."""
    return aten.sqrt(_variance(input, dim, unbiased, correction, keepdim, dtype, mask))


@overridable
def logsumexp(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return ``log(sum(exp(input)))`` over `dim`, of the elements that are not masked; minus
    infinity where there are none.
    """
    x = _floating(_converted(input, dtype))
    return aten.logsumexp(_filled(x, mask, -math.inf), _dims(input, dim), keepdim)


# -- along a dimension -----------------------------------------------------------------------------


@overridable
def cumsum(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Return the sums along `dim` up to each element, with 0 in place of what is masked."""
    return aten.cumsum(_filled(input, mask, 0), dim, dtype=dtype)


@overridable
def cumprod(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Return the products along `dim` up to each element, with 1 in place of what is masked."""
    return aten.cumprod(_filled(input, mask, 1), dim, dtype=dtype)


@overridable
def softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Return the exponentials along `dim`, which sum up to 1; 0 for what is masked."""
    return aten.softmax(_filled(_converted(input, dtype), mask, -math.inf), dim)


@overridable
def log_softmax(
    input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Return the logarithms of `softmax`."""
    return aten.log_softmax(_filled(_converted(input, dtype), mask, -math.inf), dim)


@overridable
def softmin(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Return `softmax` of ``-input``."""
    return aten.softmax(-_filled(_converted(input, dtype), mask, math.inf), dim)


@overridable
def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the input divided by its norm of order `ord` along `dim`, or by `eps` if that is
    greater; 0 for what is masked.
    """
    x = _converted(input, dtype)
    size = norm(x, ord, dim, keepdim=True, mask=mask)
    return _filled(x, mask, 0) / aten.clamp(size, min=eps)


@overridable
def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Any = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """Return ``log(exp(input) + exp(other))``, without the terms that are masked."""
    return aten.logaddexp(
        _filled(_converted(input, dtype), input_mask, -math.inf),
        _filled(_converted(other, dtype), other_mask, -math.inf),
    )


# -- masks -----------------------------------------------------------------------------------------


def _filled(x: Tensor, mask: Tensor | None, nothing: float) -> Tensor:
    """Return `x` with a neutral number in place of what is masked."""
    return x if mask is None else aten.where(_whole(x, mask), x, x.new_full((), nothing))


def _whole(x: Tensor, mask: Tensor) -> Tensor:
    """Return a mask of the shape of `x`."""
    if mask.ndim > x.ndim:
        raise IndexError(
            "_input_mask expected broadcastable mask (got mask dimensionality higher than of the "
            "input). Reshape it."
        )
    whole: Tensor = mask.to(bool_).expand(x.shape)
    return whole


def _count(x: Tensor, mask: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """Return how many elements are not masked."""
    return aten.sum(_whole(x, mask), dims, keepdim, dtype=int64)


def _variance(
    input: Tensor,
    dim: Dims,
    unbiased: bool | None,
    correction: float | None,
    keepdim: bool,
    dtype: Any,
    mask: Tensor | None,
) -> Tensor:
    if unbiased is not None and correction is not None:
        raise RuntimeError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 0 if unbiased is False else 1
    x = _floating(_converted(input, dtype))
    dims = _dims(input, dim)
    if mask is None:
        return aten.var(x, dims, correction=correction, keepdim=keepdim)
    filled = _filled(x, mask, 0)
    count = _count(x, mask, dims, True)
    distance = _filled(x - aten.sum(filled, dims, True) / count, mask, 0)
    squares = aten.square(aten.abs(distance)) if x.dtype.is_complex else aten.square(distance)
    total = aten.sum(squares, dims, keepdim)
    count = count if keepdim else aten.squeeze(count, dims)
    return total / aten.clamp(count - correction, min=0)


# -- dimensions and dtypes -------------------------------------------------------------------------


def _dims(x: Tensor, dim: Dims) -> tuple[int, ...]:
    """Return the dimensions of a reduction; none named means all."""
    if dim is None:
        return tuple(range(x.ndim))
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    return dims or tuple(range(x.ndim))


def _converted(x: Tensor, dtype: Any) -> Tensor:
    return x if dtype is None else x.to(dtype)


def _floating(x: Tensor) -> Tensor:
    inexact = x.dtype.is_floating_point or x.dtype.is_complex
    return x if inexact else x.to(get_default_dtype())


def _least(x: Tensor) -> float:
    return -math.inf if x.dtype.is_floating_point else _limits(x).min


def _greatest(x: Tensor) -> float:
    return math.inf if x.dtype.is_floating_point else _limits(x).max


def _limits(x: Tensor) -> Any:
    return finfo(x.dtype) if x.dtype.is_complex else iinfo(x.dtype)
