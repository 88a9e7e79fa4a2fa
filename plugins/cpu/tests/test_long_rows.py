"""Passes over long rows give what the generic kernels give in float64."""

from __future__ import annotations

import numpy as np
import pytest

LIMITS = {"float32": 3e-6, "float64": 1e-13}


def numbers(shape, dtype, seed=0):
    return (np.random.default_rng(seed).standard_normal(shape) * 3 + 1).astype(dtype)


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("size", [(1 << 20) - 1, 1 << 20, (1 << 22) + 5])
def test_sums_of_very_many_numbers(size, dtype, kernel):
    x = np.random.default_rng(0).uniform(0, 1, size).astype(dtype)
    exact = x.astype(np.float64).sum()
    assert abs(float(kernel("sum", x)) - exact) < (4e-7 if dtype == "float32" else 1e-14) * exact


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("shape", [(3, 70, 100), (1 << 13, 3), (2, 1 << 14), (40, 512)])
@pytest.mark.parametrize("name", ["amax", "amin"])
def test_extrema_of_rows(name, shape, dtype, kernel):
    x = numbers(shape, dtype)
    x[1, 2], x[0, 0] = np.nan, -np.inf
    expected = getattr(np, name)(x, -1)
    np.testing.assert_array_equal(kernel(name, x, (-1,)), expected)
    np.testing.assert_array_equal(kernel(name, x, -1, True), expected[..., None])
    turned = np.ascontiguousarray(x.T).T
    np.testing.assert_array_equal(kernel(name, turned, (-1,)), expected)


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("width", [2047, 2048, 2500])
def test_wide_rows_are_added_where_an_index_names_them(width, dtype, kernel):
    rng = np.random.default_rng(width)
    x, rows = numbers((7, width), dtype), numbers((50, width), dtype, 1)
    index = rng.integers(0, 7, 50)
    expected = x.astype(np.float64)
    np.add.at(expected, index, rows)
    made = kernel("index_add", x, 0, index, rows)
    assert made.dtype == dtype
    limit = LIMITS[dtype]
    np.testing.assert_allclose(made, expected, limit, limit * np.abs(expected).max())
