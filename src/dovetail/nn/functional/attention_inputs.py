"""Masks and projections of attention, by the names that copies of PyTorch's function call."""

from __future__ import annotations

import math
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import bool as bool_
from dovetail_kernel import dtype, warn_user

from ..._nn import linear
from .attention_shapes import require

__all__: list[str] = []


def _none_or_dtype(input: Tensor | None) -> dtype | None:
    """Return the dtype of a mask; None if there is none."""
    if input is None or isinstance(input, Tensor):
        return None if input is None else input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type: dtype | None,
    other_name: str,
    target_type: dtype,
    check_other: bool = True,
) -> Tensor | None:
    """Return a mask as numbers that are added to scores. Raises AssertionError if it is neither of
    bools nor of floating point.
    """
    if mask is None:
        return None
    require(
        mask.dtype is bool_ or mask.dtype.is_floating_point,
        f"only bool and floating types of {mask_name} are supported, but got {mask.dtype}. Convert "
        "it.",
    )
    if check_other and other_type is not None and other_type is not mask.dtype:
        warn_user(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for "
            "both instead."
        )
    if mask.dtype is not bool_:
        return mask
    return aten.zeros_like(mask, dtype=target_type).masked_fill_(mask, -math.inf)


def _in_projection_packed(
    q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None = None
) -> list[Tensor]:
    """Return projections of queries, keys and values by one weight: of one tensor in one
    product.
    """
    if q is k and k is v:
        return [each.contiguous() for each in linear(q, w, b).chunk(3, -1)]
    return _three(q, k, v, *w.chunk(3), *((None,) * 3 if b is None else b.chunk(3)))


def _in_projection(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    b_q: Tensor | None = None,
    b_k: Tensor | None = None,
    b_v: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """Return projections of queries, keys and values by a weight each. Raises AssertionError for a
    weight or bias of another shape.
    """
    width = q.size(-1)
    named = (("query", q, w_q, b_q), ("key", k, w_k, b_k), ("value", v, w_v, b_v))
    for name, given, weight, bias in named:
        shape = (width, given.size(-1))
        require(
            tuple(weight.shape) == shape,
            f"expecting {name} weights shape of {shape}, but got {weight.shape}",
        )
        require(
            bias is None or tuple(bias.shape) == (width,),
            f"expecting {name} bias shape of {(width,)}, but got {bias is None or bias.shape}",
        )
    return tuple(_three(q, k, v, w_q, w_k, w_v, b_q, b_k, b_v))


def _three(*given: Any) -> list[Tensor]:
    """Return products of three tensors with three weights, plus biases."""
    return [linear(*each) for each in zip(given[:3], given[3:6], given[6:], strict=True)]
