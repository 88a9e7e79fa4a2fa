"""Images sampled at few points give what the generic kernel does."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail_cpu.kernels import small_grid_sampling

SIZES = (((4, 5), (3, 2)), ((1, 1), (2, 2)), ((6, 1), (1, 4)), ((3, 2, 4), (2, 1, 3)))


def sample(sizes, points, dtype):
    """Return images, points of all kinds, also at NaN, and a gradient."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, *sizes)).astype(dtype)
    grid = (rng.standard_normal((2, *points, len(sizes))) * 1.3).astype(dtype)
    grid[0].flat[:4] = np.nan, 0, 1e30, 1
    grid[1].flat[:4] = -1, np.inf, 1, -np.inf
    return x, grid, rng.standard_normal((2, 3, *points)).astype(dtype)


def check(found, expected):
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.flags.c_contiguous
    exact = found.dtype == np.float64
    np.testing.assert_allclose(found, expected, 1e-9 if exact else 1e-4, 1e-12 if exact else 1e-5)


@pytest.mark.parametrize("align_corners", (False, True))
@pytest.mark.parametrize("padding", (0, 1, 2), ids=("zeros", "border", "reflection"))
@pytest.mark.parametrize("mode", (0, 1, 2), ids=("linear", "nearest", "cubic"))
@pytest.mark.parametrize(("sizes", "points"), SIZES, ids=str)
@pytest.mark.parametrize("dtype", ("float32", "float64"))
def test_few_points_give_what_the_generic_kernel_does(
    dtype, sizes, points, mode, padding, align_corners, table, generic_table
):
    if mode == 2 and len(sizes) == 3:
        pytest.skip("there is no bicubic sampling of volumes")
    x, grid, grad = sample(sizes, points, dtype)
    how = mode, padding, align_corners
    name = f"grid_sampler_{len(sizes)}d"
    both = table, generic_table
    for images in (x, x[..., ::-1]):
        with np.errstate(all="ignore"):
            check(*[each.kernels[name].fn(images, grid, *how) for each in both])
            for mask in ((True, True), (True, False), (False, True)):
                backward = [each.helpers["grid_sampler_backward"] for each in both]
                made = [each(grad, images, grid, *how, mask) for each in backward]
                for asked, found, expected in zip(mask, *made, strict=True):
                    assert (found is not None) is asked
                    if asked:
                        check(found, expected)


@pytest.mark.parametrize("mode", (0, 1, 2))
def test_few_points_are_not_left_to_the_generic_kernel(mode, kernel, monkeypatch):
    def refuse(*args):
        raise AssertionError("the generic kernel was called")

    x, grid, _ = sample((4, 5), (3, 2), "float32")
    monkeypatch.setattr(small_grid_sampling.GridSampling, "_in_all", refuse)
    assert kernel("grid_sampler_2d", x, grid, mode, 0, False).shape == (2, 3, 3, 2)


@pytest.mark.parametrize(("images", "points"), ((0, 4), (2, 0)))
def test_nothing_is_sampled(images, points, kernel):
    x, grid = np.ones((images, 3, 4, 5)), np.zeros((images, points, 2, 2))
    assert kernel("grid_sampler_2d", x, grid, 0, 0, False).shape == (images, 3, points, 2)
