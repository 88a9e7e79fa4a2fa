"""Attention: what queries find among keys, as a mean of the values there."""

from __future__ import annotations

import math
import threading
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_aten.kernel_support.dims import wrap_dim
from dovetail_kernel import bfloat16, float16, float32, float64
from dovetail_kernel import bool as bool_

from ...typing import Tensor

_FLOATS = frozenset({float32, float64, float16, bfloat16})


class _Choice(threading.local):
    """Which kernels a thread allows: all, or those of a block of code."""

    backends: tuple[Any, ...] | None = None
    is_viable = True
    is_fused = True


choice = _Choice()


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """Return the means of values, weighted by how well their keys fit the queries."""
    if not choice.is_viable:
        raise RuntimeError(
            "No viable backend for scaled_dot_product_attention was found. This is likely due to "
            "turning off both the math kernel and the fused kernels: allow SDPBackend.MATH."
        )
    of_query, of_key, of_value = query.array.shape, key.array.shape, value.array.shape
    is_fused = choice.is_fused and not dropout_p and query.dtype in _FLOATS
    if attn_mask is not None or not (
        of_query == of_key == of_value
        and len(of_query) > 1
        and query.dtype is key.dtype is value.dtype
    ):
        _check_operands(query, key, value, attn_mask)
        # Of what does not fit the products say so.
        is_fused = (
            is_fused
            and (attn_mask is None or (not is_causal and attn_mask.ndim <= len(of_query)))
            and of_query[-1] == of_key[-1]
            and of_key[-2] == of_value[-2]
        )
        if enable_gqa:
            key, value = _for_each_head(query, key, value)
            enable_gqa = False
            of_key, of_value = key.array.shape, value.array.shape
        is_fused = is_fused and of_query[:-2] == of_key[:-2] == of_value[:-2]
    if is_fused:
        return F._scaled_dot_product_flash_attention_for_cpu(
            query, key, value, 0.0, is_causal, attn_mask=attn_mask, scale=scale
        )[0]
    return scaled_dot_product_attention_math(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )[0]


def scaled_dot_product_attention_math(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    dropout_mask: Tensor | None = None,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Any, Any]:
    """Return the means of values, and their weights."""
    dtype = query.dtype
    if any(
        [each.dtype in (float16, bfloat16) for each in (query, key, value)]
    ):  # scores overflow, and means lose digits
        query, key, value = (F.to(each, float32) for each in (query, key, value))
    if enable_gqa:
        key, value = _for_each_head(query, key, value)
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1]) if query.shape[-1] else 1.0
    scores = F.matmul(F.mul(query, scale), F.transpose(key, -2, -1))
    weights = F._safe_softmax(_masked(scores, attn_mask, is_causal), -1)
    if dropout_mask is not None:
        weights = F.masked_fill(weights, F.logical_not(dropout_mask), 0.0)
        value = F.div(value, 1 - dropout_p)
    elif dropout_p > 0:
        weights = F.dropout(weights, dropout_p, True)
    means = F.matmul(weights, value)
    return F.to(means, dtype), F.to(weights, dtype)


def _check_operands(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> None:
    """Raise an error for operands that attention isn't defined for. Raises RuntimeError with
    PyTorch's message.
    """
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be at least 2 dimensional, but got query.dim: "
            f"{query.ndim} key.dim: {key.ndim} and value.dim: {value.ndim} instead. Add dimensions "
            "with unsqueeze."
        )
    if not query.dtype is key.dtype is value.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{query.dtype} key.dtype: {key.dtype} and value.dtype: {value.dtype} instead. "
            "Convert them."
        )
    if mask is not None and mask.dtype not in (bool_, float32, query.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            f"attn_mask.dtype: {mask.dtype} and query.dtype: {query.dtype} instead. Convert it."
        )


def _for_each_head(query: Tensor, key: Tensor, value: Tensor) -> tuple[Any, Any]:
    """Return keys and values repeated, so that groups of heads of the query share them."""
    heads, of_key, of_value = (each.shape[wrap_dim(-3, each.ndim)] for each in (query, key, value))
    if not of_key or not of_value or heads % of_key or heads % of_value:
        raise RuntimeError(
            "Number of heads in key and value must divide the number of heads in query, but got "
            f"{of_key}, {of_value} and {heads}. Choose numbers that do."
        )
    return (
        F.repeat_interleave(key, heads // of_key, -3),
        F.repeat_interleave(value, heads // of_value, -3),
    )


def _masked(scores: Tensor, mask: Tensor | None, is_causal: bool) -> Any:
    """Return scores without those that a mask excludes."""
    if is_causal:
        if mask is not None:
            raise RuntimeError(
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
                "is_causal=True. Pass one of them."
            )
        shape = tuple(scores.shape[-2:])
        future = F.triu(F.ones(shape, dtype=bool_, device=scores.device), 1)
        return F.masked_fill(scores, future, -math.inf)
    if mask is None:
        return scores
    if mask.dtype is bool_:
        return F.masked_fill(scores, F.logical_not(mask), -math.inf)
    return F.add(scores, F.to(mask, scores.dtype))
