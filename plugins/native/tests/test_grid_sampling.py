"""Compiled grid sampling against its reference: every mode, layout and kind of point."""

from __future__ import annotations

from itertools import product

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("dovetail_native._core", reason="built without a C compiler")

from .compiled_kernels import UNITS, close, helper, kernel
from .layouts import LAYOUTS, numbers

SHAPES = (
    ((2, 3, 5, 4), (7, 6)),
    ((1, 2, 1, 6), (9, 8)),
    ((1, 1, 1, 1), (3, 3)),
    ((1, 3, 19, 23), (60, 95)),
    ((2, 2, 4, 3, 5), (3, 4, 5)),
    ((1, 1, 1, 2, 1), (1, 1, 70)),
)
ODD = (np.nan, np.inf, -np.inf, 1e30, -1e30, 1.0, -1.0, 0.0, 1e10, -1e9, 3.0, -3.0)
HOW = tuple(product(range(3), range(3), (False, True)))


def points_of(shape, points, dtype, seed, special):
    """Return a grid with points in an image, beyond it, and at no numbers."""
    random = np.random.default_rng(seed)
    grid = random.normal(size=(shape[0], *points, len(shape) - 2)) * 1.5
    grid[..., :2, :] *= 9
    for number, odd in enumerate(ODD if special else ()):
        grid.reshape(-1)[number * 7 % grid.size] = odd
    return grid.astype(dtype)


@pytest.mark.parametrize("special", (False, True))
@pytest.mark.parametrize("dtype", ("f4", "f8"))
@pytest.mark.parametrize(("shape", "points"), SHAPES, ids=str)
def test_values_and_gradients(shape, points, dtype, special):
    compiled = kernel(f"grid_sampler_{len(shape) - 2}d")
    x, grid = numbers(shape, dtype, 1, False), points_of(shape, points, dtype, 2, special)
    backward = helper("grid_sampler_backward")
    for mode, padding, corners in HOW:
        how = mode, padding, corners
        if mode == 2 and len(shape) == 5:
            with pytest.raises(RuntimeError):
                compiled(x, grid, *how)
            continue
        with np.errstate(all="ignore"):
            expected = compiled.__wrapped__(x, grid, *how)
        close(compiled(x, grid, *how), expected, 200 * UNITS[dtype], 20)
        grad = numbers(expected.shape, dtype, 3, False)
        for mask in ((True, True), (True, False), (False, True)):
            made = backward(grad, x, grid, *how, mask)
            with np.errstate(all="ignore"):
                wanted = backward.__wrapped__(grad, x, grid, *how, mask)
            for asked, one, other in zip(mask, made, wanted, strict=True):
                assert (one is not None) is (other is not None) is asked
                if asked:
                    assert one.flags.c_contiguous
                    # Sums of products that cancel, of some hundred points.
                    close(one, other, 2000 * UNITS[dtype], 1e4)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ("f4", "f8"))
def test_layouts_have_the_same_bits(dtype, layout):
    compiled, backward = kernel("grid_sampler_2d"), helper("grid_sampler_backward")
    shape, points = SHAPES[0]
    x, grid = numbers(shape, dtype, 1, False), points_of(shape, points, dtype, 2, True)
    x, grid = [LAYOUTS[layout](each) for each in (x, grid)]
    for how in HOW:
        found = compiled(x, grid, *how)
        np.testing.assert_array_equal(found, compiled(x.copy("C"), grid.copy("C"), *how))
        grad = LAYOUTS[layout](numbers(found.shape, dtype, 3, False))
        for one, other in zip(
            backward(grad, x, grid, *how, (True, True)),
            backward(grad.copy("C"), x.copy("C"), grid.copy("C"), *how, (True, True)),
            strict=True,
        ):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", (np.float16, ml_dtypes.bfloat16))
def test_half_precision_is_single_precision_rounded_once(dtype):
    compiled, backward = kernel("grid_sampler_2d"), helper("grid_sampler_backward")
    shape, points = SHAPES[3]
    x, grid = numbers(shape, "f4", 1, False), points_of(shape, points, "f4", 2, False)
    x, grid = x.astype(dtype), grid.astype(dtype)
    for how in HOW:
        found = compiled(x, grid, *how)
        assert found.dtype == dtype
        wide = compiled(x.astype("f4"), grid.astype("f4"), *how)
        np.testing.assert_array_equal(found, wide.astype(dtype))
        mask = True, False
        grads = backward(found, x, grid, *how, mask)
        assert grads[0].dtype == dtype
        assert grads[1] is None
        wide, _ = backward(found.astype("f4"), *[e.astype("f4") for e in (x, grid)], *how, mask)
        np.testing.assert_array_equal(grads[0], wide.astype(dtype))


@pytest.mark.parametrize(
    ("shape", "points"),
    (((0, 3, 4, 5), (4, 2, 2)), ((2, 3, 4, 5), (0, 2, 2)), ((2, 0, 4, 5), (3, 2, 2))),
)
def test_nothing_is_sampled(shape, points):
    x, grid = np.ones(shape), np.zeros((shape[0], *points))
    assert kernel("grid_sampler_2d")(x, grid, 0, 0, False).shape == (*shape[:2], *points[:2])


@pytest.mark.parametrize(
    ("shape", "points"),
    (
        ((2, 3, 4, 5), (1, 2, 2, 2)),  # another batch
        ((2, 3, 4, 5), (2, 2, 2, 3)),  # a coordinate too many
        ((2, 3, 4, 5), (2, 2, 2)),
        ((2, 3, 0, 5), (2, 2, 2, 2)),  # an image of nothing
    ),
)
def test_what_does_not_fit_is_refused(shape, points):
    with pytest.raises(RuntimeError):
        kernel("grid_sampler_2d")(np.ones(shape), np.zeros(points), 0, 0, False)
    for how in ((3, 0, False), (0, 3, False), (-1, 0, False), (0, -1, False)):
        with pytest.raises(RuntimeError):
            kernel("grid_sampler_2d")(np.ones((2, 3, 4, 5)), np.zeros((2, 2, 2, 2)), *how)
