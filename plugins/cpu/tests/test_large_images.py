"""Pooling and normalization of channels of large arrays against the generic kernels."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail_cpu import threads

TOLERANCE = {"float32": 2e-4, "float64": 1e-9}


def images(shape, dtype="float32", seed=0, *, odd=False):
    generator = np.random.default_rng(seed)
    made = generator.standard_normal(shape).astype(dtype)
    if odd:
        flat = made.reshape(-1)
        flat[:: len(flat) // 30] = np.resize([np.nan, np.inf, -np.inf, 0.0, -0.0], 31)[
            : len(flat[:: len(flat) // 30])
        ]
        flat[1 :: len(flat) // 7] = -0.0
    return made


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


@pytest.fixture(params=(1, 2))
def number(request):
    before = threads.get_num_threads()
    threads.set_num_threads(request.param)
    yield
    threads.set_num_threads(before)


@pytest.mark.parametrize("odd", (False, True))
@pytest.mark.parametrize(
    "how",
    (
        ([2], [], [0], [1], False),
        ([3], [2], [1], [1], True),
        ([1, 3], [1, 1], [0, 1], [1, 2], False),
        ([5, 1], [2, 3], [2, 0], [1, 1], True),
        ([1], [1], [0], [1], False),
        ([17], [16], [0], [1], False),
    ),
)
def test_maxima_and_their_places_are_those_of_the_generic_kernel(
    how, odd, number, table, generic_table
):
    for shape in ((5, 7, 40, 41), (3, 81, 70)):
        x = images(shape, odd=odd)
        for given in (x, np.round(x), np.maximum(x, -0.0)):
            for found, expected in both(
                "max_pool2d_with_indices", table, generic_table, given, *how
            ):
                np.testing.assert_array_equal(found, expected)
                np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("odd", (False, True))
@pytest.mark.parametrize("sizes", ((1, 1), (7, 7), (5, 40), (3, 11)))
def test_adaptive_maxima_are_those_of_the_generic_kernel(sizes, odd, number, table, generic_table):
    x = images((4, 9, 40, 29), "float64", odd=odd)
    for found, expected in both("adaptive_max_pool2d", table, generic_table, x, sizes):
        np.testing.assert_array_equal(found, expected)
    x = images((4, 3, 9, 40, 29), odd=odd)
    for found, expected in both("adaptive_max_pool3d", table, generic_table, x, (2, *sizes)):
        np.testing.assert_array_equal(found, expected)


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
