"""Masked functions along a dimension, and masked elementwise functions."""

from __future__ import annotations

import math

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_dispatcher import overridable
from dovetail_kernel import dtype as DType

from .masks import converted, filled, of_any_layout
from .reductions import norm


@of_any_layout
@overridable
def cumsum(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """Return the cumulative sums along `dim`, by default in the dtype of the input, with 0 in place
    of masked elements.
    """
    return aten.cumsum(filled(input, mask, 0), dim, dtype=dtype or input.dtype)


@of_any_layout
@overridable
def cumprod(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """Return the cumulative products along `dim`, by default in the dtype of the input, with 1 in
    place of masked elements.
    """
    return aten.cumprod(filled(input, mask, 1), dim, dtype=dtype or input.dtype)


@of_any_layout
@overridable
def softmax(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """Return the softmax along `dim` of the unmasked elements; 0 for masked elements."""
    return aten.softmax(filled(converted(input, dtype), mask, -math.inf), dim)


@of_any_layout
@overridable
def log_softmax(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """Return the logarithms of `softmax`."""
    return aten.log_softmax(filled(converted(input, dtype), mask, -math.inf), dim)


@of_any_layout
@overridable
def softmin(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """Return `softmax` of ``-input``."""
    return aten.softmax(-filled(converted(input, dtype), mask, math.inf), dim)


@of_any_layout
@overridable
def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the input divided by its norm of order `ord` along `dim`, or by `eps` if that is
    greater; 0 for masked elements.
    """
    x = converted(input, dtype)
    size = norm(x, ord, dim, keepdim=True, mask=mask)
    return filled(x, mask, 0) / aten.clamp(size, min=eps)


@overridable
def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: DType | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """Return ``log(exp(input) + exp(other))``, without masked terms."""
    return aten.logaddexp(
        filled(converted(input, dtype), input_mask, -math.inf),
        filled(converted(other, dtype), other_mask, -math.inf),
    )
