"""Samples of attention."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, TensorMaker
from dovetail_kernel import bool as bool_

from ..makers import FLOATING, joined, mask, op_info, refusals

info = partial(op_info, family="attention")


def attended(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    attn_mask: np.ndarray | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    dropout_mask: Any = None,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Any, Any]:
    """Return the reference of both operators, computed in float64."""
    dtype = query.dtype
    query, key, value = (each.astype(np.float64) for each in (query, key, value))
    if enable_gqa:
        key, value = (
            np.repeat(each, query.shape[-3] // each.shape[-3], -3) for each in (key, value)
        )
    factor = 1 / math.sqrt(max(query.shape[-1], 1)) if scale is None else scale
    scores = np.matmul(query * factor, np.swapaxes(key, -2, -1))
    if is_causal:
        attn_mask = np.tril(np.ones(scores.shape[-2:], np.bool_))
    if attn_mask is not None:
        is_bool = attn_mask.dtype == np.bool_
        scores = np.where(attn_mask, scores, -np.inf) if is_bool else scores + attn_mask
    top = np.max(scores, -1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(np.isfinite(top), top, 0))
    sums = weights.sum(-1, keepdims=True)
    weights = weights / np.where(sums, sums, 1)
    if dropout_mask is not None:
        weights = np.where(dropout_mask, weights, 0)
        value = value / (1 - dropout_p)
    return np.matmul(weights, value).astype(dtype), weights.astype(dtype)


def attended_only(*args: Any, **kwargs: Any) -> Any:
    return attended(*args, **kwargs)[0]


def operands(make: TensorMaker) -> Iterator[SampleInput]:
    def three(*lead: int) -> tuple[Any, Any, Any]:
        return make(*lead, 2, 3), make(*lead, 4, 3), make(*lead, 4, 2)

    yield SampleInput(*three())
    yield SampleInput(*three(2), is_causal=True)
    yield SampleInput(*three(1, 2), attn_mask=mask(make, 2, 4), scale=0.7)
    yield SampleInput(*three(1, 2), attn_mask=make(1, 2, 2, 4))
    yield SampleInput(*three(), attn_mask=make.values([[False] * 4] * 2, bool_))
    yield SampleInput(make(4, 2, 3), make(2, 4, 3), make(1, 4, 2), enable_gqa=True)
    yield SampleInput(make(2, 0), make(3, 0), make(3, 2))
    yield SampleInput(make(2, 3), make(0, 3), make(0, 2))


def fused_reference(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: np.ndarray | None = None,
    scale: float | None = None,
) -> tuple[Any, Any]:
    """Return the means, and the logarithms of the sums of the powers of scores."""
    if attn_mask is not None and attn_mask.dtype == np.bool_:
        attn_mask = np.where(attn_mask, 0.0, -np.inf)
    means = attended_only(query, key, value, attn_mask, 0.0, is_causal, scale=scale)
    factor = 1 / math.sqrt(max(query.shape[-1], 1)) if scale is None else scale
    scores = np.matmul(query.astype(np.float64) * factor, np.swapaxes(key, -2, -1))
    if is_causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], np.bool_)), scores, -np.inf)
    if attn_mask is not None:
        scores = scores + attn_mask
    top = np.max(scores, -1, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0)
    sums = np.exp(scores - top[..., None]).sum(-1)
    exact = np.float64 if query.dtype == np.float64 else np.float32
    return means, (np.log(np.where(sums, sums, 1)) + top).astype(exact)


def fused(make: TensorMaker) -> Iterator[SampleInput]:
    def three(*lead: int, queries: int = 2) -> tuple[Any, Any, Any]:
        return make(*lead, queries, 3), make(*lead, 4, 3), make(*lead, 4, 3)

    yield SampleInput(*three(1, 2))
    yield SampleInput(*three(2, 1), is_causal=True)
    yield SampleInput(*three(1, 2, queries=6), 0.0, True, scale=-0.5)
    yield SampleInput(*three(1, 2), attn_mask=make(2, 4), scale=0.7)
    yield SampleInput(*three(2, 2), attn_mask=make(2, 1, 1, 4))
    if make.dtype.is_floating_point:
        yield SampleInput(*three(1, 1), attn_mask=make.values([[-math.inf] * 4, [0.0] * 4]))


def fused_without_torch(make: TensorMaker) -> Iterator[SampleInput]:
    """Yield what PyTorch's kernel refuses."""
    yield SampleInput(make(2, 3), make(4, 3), make(4, 2), attn_mask=mask(make, 2, 4))
    yield SampleInput(make(2, 2, 3), make(2, 4, 3), make(2, 4, 5), is_causal=True)
    yield SampleInput(make(2, 0), make(3, 0), make(3, 2))
    yield SampleInput(make(2, 3), make(0, 3), make(0, 2))


def dropped(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(4, 3), make(4, 2), None, 0.25, False, mask(make, 2, 4))


both = (
    lambda make: SampleInput(make(2, 3), make(2, 3), make(2, 3), mask(make, 2, 2), is_causal=True),
    RuntimeError,
    "Explicit attn_mask should not be set when is_causal=True",
)
heads = (
    lambda make: SampleInput(make(3, 2, 3), make(2, 4, 3), make(2, 4, 2), enable_gqa=True),
    RuntimeError,
    "Number of heads in key and value must divide the number of heads in query",
)
vectors = (
    lambda make: SampleInput(make(3), make(3), make(3)),
    RuntimeError,
    "Expected query, key, and value to all be at least 2 dimensional, but got query.dim: 1",
)
unlike = (
    lambda make: SampleInput(make(2, 3), make(2, 3).double(), make(2, 3)),
    RuntimeError,
    "Expected query, key, and value to have the same dtype, but got query.dtype",
)
WITHOUT_KERNEL = refusals(
    (
        lambda make: SampleInput(make(1, 2, 3, 4), make(1, 2, 3, 5), make(1, 2, 3, 5)),
        RuntimeError,
        "should have the same head size",
    ),
    (
        lambda make: SampleInput(make(1, 2, 3, 4), make(1, 2, 3, 4), make(1, 2, 3, 4), 0.5),
        RuntimeError,
        "Currently do not support dropout > 0",
    ),
    (
        lambda make: SampleInput(
            make(1, 1, 2, 3), make(1, 1, 4, 3), make(1, 1, 4, 3), attn_mask=make(3, 4)
        ),
        RuntimeError,
        r"attn_mask of shape \(3, 4\) must expand to the shape of the scores, \(1, 1, 2, 4\)",
    ),
    (
        lambda make: SampleInput(
            make(1, 1, 2, 3), make(1, 1, 4, 3).double(), make(1, 1, 4, 3).half()
        ),
        RuntimeError,
        "expected query, key and value of one dtype",
    ),
)
whole_mask = (
    lambda make: SampleInput(make(2, 3), make(2, 3), make(2, 3), mask(make, 2, 2).long()),
    RuntimeError,
    "Expected attn_mask dtype to be bool or float or to match query dtype",
)

OP_INFOS = [
    info(
        "scaled_dot_product_attention",
        operands,
        attended_only,
        FLOATING,
        errors=refusals(both, heads, vectors, unlike, whole_mask),
    ),
    info(
        "_scaled_dot_product_attention_math",
        joined(operands, dropped),
        attended,
        FLOATING,
        errors=refusals(both, heads),
    ),
    info(
        "_scaled_dot_product_flash_attention_for_cpu",
        joined(fused, fused_without_torch),
        fused_reference,
        FLOATING,
        errors=WITHOUT_KERNEL,
    ),
]
