"""Sampling of large images against the generic kernels."""

from __future__ import annotations

import numpy as np
import pytest

TOLERANCE = {"float32": 2e-4, "float64": 1e-9}


def images(shape, dtype="float32", seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def both(name, table, generic_table, *args):
    with np.errstate(all="ignore"):
        found, expected = [each.kernels[name].fn(*args) for each in (table, generic_table)]
    pairs = (found, expected) if isinstance(found, tuple) else ((found,), (expected,))
    return list(zip(*pairs, strict=True))


def agree(pairs, dtype="float32"):
    for found, expected in pairs:
        assert (found is None) == (expected is None)
        if found is not None:
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            assert found.flags.c_contiguous
            np.testing.assert_allclose(found, expected, TOLERANCE[dtype], TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("padding", (0, 1, 2))
@pytest.mark.parametrize("mode", (0, 2))
def test_images_sampled_by_blocks_of_points(table, generic_table, mode, padding, dtype):
    x, grid = images((2, 3, 40, 30), dtype), images((2, 90, 140, 2), dtype, 1)
    grid[0, 0, :3, 0] = [np.nan, np.inf, -np.inf]
    details = (mode, padding, False)
    pairs = both("grid_sampler_2d", table, generic_table, x, grid, *details)
    agree(pairs, dtype)
    grad = images(pairs[0][0].shape, dtype, 2)
    with np.errstate(all="ignore"):
        found, expected = [
            each.helpers["grid_sampler_backward"](grad, x, grid, *details, (True, True))
            for each in (table, generic_table)
        ]
    agree(list(zip(found, expected, strict=True)), dtype)
