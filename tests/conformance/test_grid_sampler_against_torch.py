"""Images and volumes sampled at a grid, and their gradients: few points by one formula, many by
blocks of points; on, between and beyond the elements, in every mode.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch

import dovetail

MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")
SMALL = {2: ((2, 3, 5, 4), (2, 7, 6)), 3: ((2, 2, 4, 3, 5), (2, 3, 4, 5))}
LARGE = {2: ((2, 3, 19, 23), (2, 60, 95)), 3: ((2, 2, 7, 6, 5), (2, 11, 19, 23))}
LINES = {2: ((1, 2, 1, 6), (1, 9, 8)), 3: ((1, 2, 1, 5, 1), (1, 4, 5, 6))}
"""Images of one row, volumes of one row of one element."""


def image_and_grid(sizes, seed, *, kind):
    """Return an image, and points of it: anywhere, or on elements and on the edges of the image."""
    r = np.random.default_rng(seed)
    shape, points = sizes
    x = r.standard_normal(shape)
    grid = r.uniform(-1.7, 1.7, (*points, len(shape) - 2))
    if kind == "far":
        grid *= 4
    if kind == "on elements":
        lengths = np.array(shape[:1:-1])
        grid = 2 * r.integers(-2, lengths + 2, grid.shape) / np.maximum(lengths - 1, 1) - 1
    return x, grid


def sampled(lib, x, grid, mode, padding, corners):
    """Return the values at points, and the gradients of image and grid, none that is alike."""
    x, grid = [lib.tensor(each).requires_grad_() for each in (x, grid)]
    found = lib.nn.functional.grid_sample(x, grid, mode, padding, corners)
    slopes = lib.arange(found.numel(), dtype=found.dtype).reshape(found.shape).cos()
    grads = lib.autograd.grad((found * slopes).sum(), [x, grid])
    return [each.detach().cpu().numpy() for each in (found, *grads)]


@pytest.mark.parametrize("kind", ("near", "far", "on elements"))
@pytest.mark.parametrize("sizes", (SMALL, LARGE, LINES), ids=("small", "large", "lines"))
@pytest.mark.parametrize("ndim", (2, 3))
def test_values_and_gradients_of_every_mode(ndim, sizes, kind):
    x, grid = image_and_grid(sizes[ndim], ndim, kind=kind)
    for mode, padding, corners in product(MODES, PADDINGS, (False, True)):
        if ndim == 3 and mode == "bicubic":
            continue
        if kind == "on elements" and mode == "nearest":
            continue  # which of two is nearest is a matter of the last digit
        ours, theirs = [sampled(lib, x, grid, mode, padding, corners) for lib in (dovetail, torch)]
        for name, mine, other in zip(("values", "image", "grid"), ours, theirs, strict=True):
            np.testing.assert_allclose(
                mine, other, 1e-9, 1e-9, err_msg=f"{name}: {mode}, {padding}, {corners}"
            )


@pytest.mark.parametrize("padding", PADDINGS[1:])
def test_points_on_the_edge_have_no_derivatives_of_any_order(padding):
    x = dovetail.arange(12.0, dtype=dovetail.float64).reshape(1, 1, 3, 4).requires_grad_()
    corners = dovetail.tensor([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]], dtype=dovetail.float64)
    grid = corners.reshape(1, 1, 3, 2).requires_grad_()
    found = dovetail.nn.functional.grid_sample(x, grid, "bilinear", padding, True)
    (first,) = dovetail.autograd.grad(found.sum(), grid, create_graph=True)
    assert not first.any()
    second = dovetail.autograd.grad((first * first.detach().add(1)).sum(), [x, grid])
    assert not any([each.any() for each in second])


def test_of_two_elements_that_are_as_near_the_even_one_is_taken():
    x = np.arange(5.0).reshape(1, 1, 1, 5)
    grid = np.zeros((1, 1, 9, 2))
    grid[..., 0] = np.arange(-2, 7) / 2 - 0.75
    for padding in PADDINGS:
        ours, theirs = [
            lib.nn.functional.grid_sample(
                lib.from_numpy(x), lib.from_numpy(grid), "nearest", padding, True
            ).tolist()
            for lib in (dovetail, torch)
        ]
        assert ours == theirs


@pytest.mark.parametrize("sizes", (SMALL, LARGE), ids=("small", "large"))
def test_points_that_are_no_numbers_are_where_pytorch_has_them(sizes):
    x, grid = image_and_grid(sizes[2], 5, kind="near")
    grid[0, 0, 0], grid[0, 1, :, 0] = np.nan, np.nan
    for mode, padding, corners in product(MODES[:2], PADDINGS[:2], (False, True)):
        ours, theirs = [
            lib.nn.functional.grid_sample(
                *[lib.from_numpy(each) for each in (x, grid)], mode, padding, corners
            ).numpy()
            for lib in (dovetail, torch)
        ]
        np.testing.assert_allclose(ours, theirs, 1e-9, 1e-9, err_msg=f"{mode}, {padding}")


@pytest.mark.parametrize("mode", MODES[:1] + MODES[2:])
def test_the_error_of_single_precision_is_that_of_pytorch(mode):
    x, grid = image_and_grid(LARGE[2], 7, kind="near")
    for padding, corners in product(PADDINGS, (False, True)):
        details = mode, padding, corners
        exact = sampled(torch, x, grid, *details)
        ours, theirs = [
            sampled(lib, x.astype(np.float32), grid.astype(np.float32), *details)
            for lib in (dovetail, torch)
        ]
        for mine, other, best in zip(ours, theirs, exact, strict=True):
            errors = [np.median(np.abs(each - best)) for each in (mine, other)]
            assert errors[0] <= 3 * errors[1], details
