"""Attention: the samples of a batch are heads more."""

from __future__ import annotations

from typing import Any

from ..._generated import functions as F
from ...batching.table import batched, call_one, logical_ndim, lower, padded
from ...typing import Batch, Dims, Tensor

_attention = F._scaled_dot_product_flash_attention_for_cpu


def attention(
    info: Batch,
    in_dims: Dims,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Any, Any]:
    of_query, of_key, of_value, *_, of_mask = in_dims
    ndim = logical_ndim(query, of_query)
    if ndim < 2 or (attn_mask is not None and logical_ndim(attn_mask, of_mask) > ndim):
        mask = None if attn_mask is None else lower(attn_mask, of_mask)
        call_one(_attention, in_dims[:3], query, key, value, attn_mask=mask)
    size = info.batch_size
    return _attention(
        batched(query, of_query, size),
        batched(key, of_key, size),
        batched(value, of_value, size),
        dropout_p,
        is_causal,
        attn_mask=None if attn_mask is None else padded(attn_mask, of_mask, ndim),
        scale=scale,
    ), (0, 0)
