"""Attention in one kernel."""

from __future__ import annotations

from dovetail_kernel import float32, float64

from ...meta.meta_array import MetaArray
from ...meta.table import like
from .kernels import check_attention


def attention(
    query: MetaArray,
    key: MetaArray,
    value: MetaArray,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: MetaArray | None = None,
    scale: float | None = None,
) -> tuple[MetaArray, MetaArray]:
    check_attention(query, key, value, attn_mask, dropout_p)
    lead = query.shape[:-1]
    # The sums of powers are as exact as the kernel computes them.
    exact = float64 if query.dtype is float64 else float32
    return like(query, (*lead, value.shape[-1])), like(query, lead, exact)
