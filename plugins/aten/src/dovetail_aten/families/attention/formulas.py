"""The derivative of attention in one kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail_kernel import bfloat16, float16, float32
from dovetail_kernel import bool as bool_

from ...typing import Namespace, TensorLike
from .kernels import factor_of


def attention_backward(
    k: Namespace,
    grad: TensorLike,
    query: TensorLike,
    key: TensorLike,
    value: TensorLike,
    output: TensorLike,
    logsumexp: TensorLike,
    is_causal: bool,
    attn_mask: TensorLike | None,
    scale: float | None,
    mask: Sequence[bool],
) -> tuple[Any, Any, Any, Any]:
    """Return the gradients of queries, keys and values, and of what a mask adds if `mask` asks for
    it.

    Over arrays a backend has it in one pass, for which it computes the weights again from
    `logsumexp`. Over tensors it is made of operators, that it can be differentiated again: the
    weights from queries and keys alone, since `logsumexp` has no derivative.
    """
    in_one_pass = getattr(k, "attention_backward", None)
    if in_one_pass is not None:
        made: tuple[Any, Any, Any, Any] = in_one_pass(
            grad, query, key, value, output, logsumexp, is_causal, attn_mask, scale, mask
        )
        return made
    own = query.dtype
    if own in (float16, bfloat16):
        grad, query, key, value = (k.to(each, float32) for each in (grad, query, key, value))
    factor = factor_of(query, scale)
    scaled = k.mul(query, factor)
    scores = k.matmul(scaled, k.transpose(key, -2, -1))
    if is_causal:
        past = k.tril(k.ones(tuple(scores.shape[-2:]), dtype=bool_, device=scores.device))
        scores = k.masked_fill(scores, k.logical_not(past), -math.inf)
    if attn_mask is not None and attn_mask.dtype is bool_:
        scores = k.masked_fill(scores, k.logical_not(attn_mask), -math.inf)
    elif attn_mask is not None:
        scores = k.add(scores, k.to(attn_mask, scores.dtype))
    weights = k._safe_softmax(scores, -1)
    slopes = k.matmul(grad, k.transpose(value, -2, -1))
    slopes = k._softmax_backward_data(slopes, weights, -1, weights.dtype)
    gradients = (
        k.mul(k.matmul(slopes, key), factor),
        k.matmul(k.transpose(slopes, -2, -1), scaled),
        k.matmul(k.transpose(weights, -2, -1), grad),
    )
    to_query, to_key, to_value = [k.to(each, own) for each in gradients]
    to_mask = None
    if mask[3] and attn_mask is not None and attn_mask.dtype is not bool_:
        to_mask = k.to(k.sum_to_size(slopes, attn_mask.shape), attn_mask.dtype)
    return to_query, to_key, to_value, to_mask
