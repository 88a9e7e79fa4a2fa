"""Reductions of unmasked elements."""

from __future__ import annotations

import math

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_dispatcher import overridable
from dovetail_kernel import dtype as DType

from .masks import (
    Dims,
    _canonical_dim,
    converted,
    count,
    filled,
    floating,
    greatest,
    least,
    of_any_layout,
)


@of_any_layout
@overridable
def sum(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the sums over `dim` of the unmasked elements; 0 if there are none. Integers are summed
    in int64.
    """
    return aten.sum(filled(input, mask, 0), _canonical_dim(dim, input.ndim), keepdim, dtype=dtype)


@of_any_layout
@overridable
def prod(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the products over `dim` of the unmasked elements; 1 if there are none. Integers are
    multiplied in int64.
    """
    result = filled(input, mask, 1)
    if not input.ndim:
        return aten.prod(result, dtype=dtype)
    for each in reversed(_canonical_dim(dim, input.ndim)):
        result = aten.prod(result, each, keepdim, dtype=dtype)
    return result


@of_any_layout
@overridable
def amax(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the greatest unmasked elements over `dim`; minus infinity, or the smallest integer, if
    there are none.
    """
    x = converted(input, dtype)
    return aten.amax(filled(x, mask, least(x)), _canonical_dim(dim, input.ndim), keepdim)


@of_any_layout
@overridable
def amin(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the smallest unmasked elements over `dim`; infinity, or the greatest integer, if there
    are none.
    """
    x = converted(input, dtype)
    return aten.amin(filled(x, mask, greatest(x)), _canonical_dim(dim, input.ndim), keepdim)


@of_any_layout
@overridable
def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the indices along `dim` of the greatest unmasked elements, in the dtype of the input
    as in PyTorch; without `dim`, in the flattened tensor.
    """
    x = converted(input, dtype)
    places: Tensor = aten.argmax(filled(x, mask, least(x)), dim, keepdim).to(x.dtype)
    return places


@of_any_layout
@overridable
def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the indices along `dim` of the smallest unmasked elements, in the dtype of the input
    as in PyTorch; without `dim`, in the flattened tensor.
    """
    x = converted(input, dtype)
    places: Tensor = aten.argmin(filled(x, mask, greatest(x)), dim, keepdim).to(x.dtype)
    return places


@of_any_layout
@overridable
def mean(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the means over `dim` of the unmasked elements; NaN if there are none.

    Raises
    ------
    ValueError
        For integers without `dtype`.
    """
    x = converted(input, dtype)
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        raise ValueError(
            "mean(): Could not infer output dtype. Input dtype must be either a floating point or "
            f"complex dtype. Got: {x.dtype}. Give dtype=."
        )
    dims = _canonical_dim(dim, input.ndim)
    if mask is None:
        return aten.mean(x, dims, keepdim)
    return aten.sum(filled(x, mask, 0), dims, keepdim) / count(x, mask, dims, keepdim)


@of_any_layout
@overridable
def median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the (lower) medians along `dim` of the unmasked elements; NaN if there are none.

    Raises
    ------
    ValueError
        For integers with a mask: they have no NaN.
    """
    x = converted(input, dtype)
    if mask is None:
        return aten.median(x, dim, keepdim).values
    if not x.dtype.is_floating_point:
        raise ValueError(
            "masked median expects no fully masked out rows if dtype is not floating point. "
            "Convert the tensor first."
        )
    return aten.nanmedian(filled(x, mask, math.nan), dim, keepdim).values


@of_any_layout
@overridable
def norm(
    input: Tensor,
    ord: float = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the norms of order `ord` over `dim` of the unmasked elements."""
    x = converted(input, dtype)
    nothing = math.inf if ord < 0 else 0
    return aten.norm(filled(x, mask, nothing), ord, _canonical_dim(dim, input.ndim), keepdim)


@of_any_layout
@overridable
def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the variances over `dim` of the unmasked elements: the sums of squared deviations from
    the mean, divided by the number of elements minus `correction` (default: 1).

    Raises
    ------
    RuntimeError
        If both `unbiased` and `correction` are given.
    """
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask)


@of_any_layout
@overridable
def std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the square roots of `var`."""
    return aten.sqrt(_variance(input, dim, unbiased, correction, keepdim, dtype, mask))


@of_any_layout
@overridable
def logsumexp(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return ``log(sum(exp(input)))`` over `dim`, of the unmasked elements; minus infinity if there
    are none.
    """
    x = floating(converted(input, dtype))
    return aten.logsumexp(filled(x, mask, -math.inf), _canonical_dim(dim, input.ndim), keepdim)


def _variance(
    input: Tensor,
    dim: Dims,
    unbiased: bool | None,
    correction: float | None,
    keepdim: bool,
    dtype: object,
    mask: Tensor | None,
) -> Tensor:
    if unbiased is not None and correction is not None:
        raise RuntimeError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 0 if unbiased is False else 1
    x = floating(converted(input, dtype))
    dims = _canonical_dim(dim, input.ndim)
    if mask is None:
        whole: Tensor = aten.var(x, dims, correction=correction, keepdim=keepdim).to(x.dtype)
        return whole
    shown = filled(x, mask, 0)
    number = count(x, mask, dims, True)
    distance = filled(x - aten.sum(shown, dims, True) / number, mask, 0)
    squares = aten.square(aten.abs(distance)) if x.dtype.is_complex else aten.square(distance)
    total = aten.sum(squares, dims, keepdim)
    number = number if keepdim else aten.squeeze(number, dims)
    found: Tensor = (total / aten.clamp(number - correction, min=0)).to(x.dtype)
    return found
