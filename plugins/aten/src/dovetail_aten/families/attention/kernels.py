"""Attention in one kernel: products, mask and softmax, and their derivative."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ...kernel_support.family import Family, fitted, helper, operator
from ...typing import Array

_NAME = "scaled_dot_product_attention_flash_attention"


def check_attention(query: Any, key: Any, value: Any, attn_mask: Any, dropout_p: float) -> None:
    """Raise an error for queries, keys and values with different numbers of heads, or another
    invalid argument.

    Raises
    ------
    RuntimeError
        With PyTorch's message if it has one.
    """
    if (
        query.shape == key.shape == value.shape
        and query.dtype == key.dtype == value.dtype
        and attn_mask is None
        and not dropout_p
        and query.ndim > 1
    ):
        return
    if dropout_p > 0:
        raise RuntimeError(
            f"{_NAME}: Currently do not support dropout > 0. Use scaled_dot_product_attention."
        )
    shapes = [tuple(each.shape) for each in (query, key, value)]
    if min(map(len, shapes)) < 2:
        raise RuntimeError(
            f"{_NAME}: Accept only inputs of at least 2 dims, (..., T, K), but got shapes "
            f"{', '.join(map(str, shapes))}. Add dimensions with unsqueeze."
        )
    if any([each.dtype != query.dtype for each in (key, value)]):
        raise RuntimeError(
            f"expected query, key and value of one dtype, but got {query.dtype}, {key.dtype} and "
            f"{value.dtype}. Convert them."
        )
    (*lead, length, features), (*of_keys, keys, width), (*of_values, values, _) = shapes
    if features != width:
        raise RuntimeError(
            f"{_NAME}: Q/K/V should have the same head size, but got {features} and {width}."
        )
    if not lead == of_keys == of_values or keys != values:
        raise RuntimeError(
            f"{_NAME}: Expected as many heads of queries, keys and values, and a value for each "
            f"key, but got shapes {', '.join(map(str, shapes))}. Expand them."
        )
    if attn_mask is not None and not _spreads(attn_mask.shape, (*lead, length, keys)):
        raise RuntimeError(
            f"The attn_mask of shape {tuple(attn_mask.shape)} must expand to the shape of the "
            f"scores, {(*lead, length, keys)}. Pass a mask of a size or 1 for each dimension."
        )


def _spreads(shape: Sequence[int], whole: tuple[int, ...]) -> bool:
    """Return whether `shape` broadcasts to `whole`."""
    ends = zip(reversed(tuple(shape)), reversed(whole), strict=False)
    return len(shape) <= len(whole) and all([size in (1, length) for size, length in ends])


def factor_of(query: Any, scale: float | None) -> float:
    """Return the factor of the scores: `scale`, or a default from the number of features."""
    return _factor_by(query.shape[-1]) if scale is None else scale


@lru_cache
def _factor_by(features: int) -> float:
    return 1 / math.sqrt(features) if features else 1.0


class Attention(Family):
    """Attention of several heads, and its derivative."""

    @operator("_scaled_dot_product_flash_attention_for_cpu")
    @fitted
    def attention(
        self,
        query: Array,
        key: Array,
        value: Array,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        *,
        attn_mask: Any = None,
        scale: float | None = None,
    ) -> tuple[Any, Any]:
        """Return the weighted means of values, 0 for a query whose keys are all masked, and the
        logarithms of the sums of exponentials of the scores.
        """
        check_attention(query, key, value, attn_mask, dropout_p)
        own, wide = query.dtype, self.precision.wide
        query, key, value = wide(query), wide(key), wide(value)
        xp = self.xp
        if not key.shape[-2]:
            return (
                xp.zeros((*query.shape[:-1], value.shape[-1]), own),
                xp.zeros(query.shape[:-1], query.dtype),
            )
        scores = self._scores(query, key, is_causal, attn_mask, scale)
        kernels = self.table.kernels
        means = xp.matmul(kernels["_safe_softmax"].fn(scores, -1), value)
        logarithms = kernels["logsumexp"].fn(scores, -1)
        is_empty = xp.equal(logarithms, self.numbers.like(query, -math.inf))
        logarithms = xp.where(is_empty, self.numbers.like(query, 0), logarithms)
        return means.astype(own, copy=False), logarithms

    @helper("attention_backward")
    def attention_backward(
        self,
        grad: Any,
        query: Any,
        key: Any,
        value: Any,
        output: Any,
        logsumexp: Array,
        is_causal: bool,
        attn_mask: Any,
        scale: float | None,
        mask: Sequence[bool],
    ) -> tuple[Any, Any, Any, Any]:
        """Return the gradients of queries, keys, values and, depending on `mask`, of the mask."""
        own, wide = query.dtype, self.precision.wide
        grad, query, key, value = map(wide, (grad, query, key, value))
        xp, kernels = self.xp, self.table.kernels
        scores = self._scores(query, key, is_causal, attn_mask, scale)
        weights = kernels["_safe_softmax"].fn(scores, -1)
        slopes = xp.matmul(grad, value.swapaxes(-2, -1))
        slopes = kernels["_softmax_backward_data"].fn(slopes, weights, -1, slopes.dtype)
        factor = self.numbers.like(query, factor_of(query, scale))
        made = (
            xp.multiply(xp.matmul(slopes, key), factor),
            xp.matmul(slopes.swapaxes(-2, -1), xp.multiply(query, factor)),
            xp.matmul(weights.swapaxes(-2, -1), grad),
        )
        to_query, to_key, to_value = [each.astype(own, copy=False) for each in made]
        to_mask = None
        if mask[3] and attn_mask is not None and attn_mask.dtype != xp.bool_:
            to_mask = self.table.helpers["sum_to"](slopes, attn_mask.shape)
            to_mask = to_mask.astype(attn_mask.dtype, copy=False)
        return to_query, to_key, to_value, to_mask

    def _scores(
        self, query: Any, key: Array, is_causal: bool, attn_mask: Array | None, scale: float | None
    ) -> Any:
        """Return how well keys fit queries: minus infinity where a mask leaves one out."""
        xp = self.xp
        query = xp.multiply(query, self.numbers.like(query, factor_of(query, scale)))
        scores = xp.matmul(query, key.swapaxes(-2, -1))
        if is_causal:
            queries, keys = scores.shape[-2:]
            past = xp.less_equal(xp.arange(keys), xp.arange(queries)[:, None])
            scores = xp.where(past, scores, self.numbers.like(scores, -math.inf))
        if attn_mask is None:
            return scores
        if attn_mask.dtype == xp.bool_:
            return xp.where(attn_mask, scores, self.numbers.like(scores, -math.inf))
        return xp.add(scores, attn_mask.astype(scores.dtype, copy=False))
