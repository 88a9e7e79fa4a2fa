"""Means of attention lie in memory as PyTorch's do, in the order of the queries: programs view the
heads as one dimension again, which no view of C order allows.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch

import dovetail

pytestmark = pytest.mark.cpu_only(reason="on the meta device PyTorch computes in C order")

DTYPES = ("float32", "float64", "bfloat16")


def _operand(r: random.Random, shape: list[int], number: int) -> tuple[np.ndarray, list[int]]:
    """Return numbers, and an order in memory: often that of heads that were split off features."""
    order = [0, 2, 1, 3] if r.random() < 0.5 else r.sample(range(4), 4)
    kept = [1 if dim == 0 and r.random() < 0.1 else shape[dim] for dim in order]
    values = np.random.default_rng(number).standard_normal(kept)
    return values.astype(np.float32), order


def _laid(lib: Any, operand: tuple[np.ndarray, list[int]], shape: list[int], dtype: str) -> Any:
    values, order = operand
    turned = lib.tensor(values).to(getattr(lib, dtype)).permute(*np.argsort(order).tolist())
    return turned.expand(*shape)


def _attention(lib: Any, seed: int) -> Any:
    r = random.Random(seed)
    batch, heads, queries = (r.choice([1, 2, 3, 5]) for _ in range(3))
    features = r.choice([2, 3, 5])
    keys = queries if r.random() < 0.7 else r.choice([1, 2, 20])
    width = features if r.random() < 0.9 else features + 1
    dtype = r.choice(DTYPES)
    shapes = [[batch, heads, keys, size] for size in (features, width)]
    shapes.insert(0, [batch, heads, queries, features])
    operands = [
        _laid(lib, _operand(r, shape, seed + place), shape, dtype)
        for place, shape in enumerate(shapes)
    ]
    masks = [[queries, keys], [heads, queries, keys], [batch, 1, queries, keys]]
    mask = r.choice([None, None, *masks])
    attn_mask = None if mask is None else lib.ones(mask, dtype=lib.bool)
    return lib.nn.functional.scaled_dot_product_attention(
        *operands, attn_mask=attn_mask, is_causal=mask is None and r.random() < 0.3
    )


def _strides(made: Any) -> list[int]:
    return [step for size, step in zip(made.shape, made.stride(), strict=True) if size > 1]


def test_means_lie_as_the_queries_do() -> None:
    for seed in range(300):
        ours, theirs = _attention(dovetail, seed), _attention(torch, seed)
        assert _strides(ours) == _strides(theirs), seed
        np.testing.assert_allclose(
            ours.float().numpy(), theirs.float().numpy(), rtol=0.02, atol=0.02, err_msg=str(seed)
        )


def test_heads_are_joined_by_a_view() -> None:
    features = dovetail.randn(2, 5, 12).requires_grad_()
    heads = features.view(2, 5, 3, 4).transpose(1, 2)
    made = dovetail.nn.functional.scaled_dot_product_attention(heads, heads, heads)
    joined = made.transpose(1, 2).view(2, 5, 12)
    joined.sum().backward()
    assert features.grad is not None
    assert features.grad.shape == (2, 5, 12)
