"""Attention of many scores, by parts of the heads and queries, is the generic kernel's."""

from __future__ import annotations

import numpy as np
import pytest

SHAPES = (
    (3, 4, 100, 130, 8, 5),  # batch, heads, queries, keys, features of keys and of values
    (1, 2, 700, 700, 4, 4),
    (2, 30, 70, 70, 6, 3),
    (1, 1, 9, 20_000, 4, 4),
)


@pytest.mark.parametrize("dtype", ("float32", "float64", "float16"))
@pytest.mark.parametrize("is_causal", (False, True))
@pytest.mark.parametrize("shape", SHAPES)
def test_means_and_gradients_of_many_scores(shape, is_causal, dtype, table, generic_table):
    batch, heads, queries, keys, features, width = shape
    generator = np.random.default_rng(0)
    lead = (batch, heads)
    query, key, value, grad = [
        generator.standard_normal((*lead, *each)).astype(dtype)
        for each in ((queries, features), (keys, features), (keys, width), (queries, width))
    ]
    value = value.swapaxes(0, 1).copy().swapaxes(0, 1)
    name = "_scaled_dot_product_flash_attention_for_cpu"
    found, expected = [
        each.kernels[name].fn(query, key, value, 0.0, is_causal, scale=0.7)
        for each in (table, generic_table)
    ]
    gradients = [
        each.helpers["attention_backward"](
            grad, query, key, value, *expected, is_causal, None, 0.7, (True,) * 4
        )
        for each in (table, generic_table)
    ]
    limit = {"float16": 2e-3, "float32": 2e-5, "float64": 1e-12}[dtype]
    for one, other in zip((*found, *gradients[0]), (*expected, *gradients[1]), strict=True):
        if other is None:
            assert one is None
            continue
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one, other, limit, limit * 50)


def test_more_queries_than_keys_and_masks_are_the_generic_kernels(kernel, generic_table):
    name = "_scaled_dot_product_flash_attention_for_cpu"
    query, key = np.random.default_rng(0).standard_normal((2, 2, 600, 4))
    mask = np.tri(600, 400, -3, bool)  # the first queries see nothing
    for more in ({"is_causal": True}, {"attn_mask": mask}):
        given = query, key[:, :400], key[:, :400]
        found = kernel(name, *given, **more)
        with np.errstate(all="ignore"):
            expected = generic_table.kernels[name].fn(*given, **more)
        for one, other in zip(found, expected, strict=True):
            assert np.isfinite(one).all()
            np.testing.assert_allclose(one, other, 1e-12, 1e-12)
