"""Sums, means and extrema of many numbers in half precision, in float32 some rows at a time."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

HALVES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
SHAPES = ((1 << 19,), (700, 900), (3, 300_000), (300_000, 3), (40, 50, 300), (1, 1 << 19))
DIMS = {1: (None, (0,)), 2: (None, (0,), (1,), (0, 1)), 3: (None, (0,), (1,), (2,), (0, 2), (1, 2))}
CASES = [
    (shape, dims, view)
    for shape in SHAPES
    for dims in DIMS[len(shape)]
    for view in ("as it is", "reversed", "transposed")
    if view != "transposed" or len(shape) > 1
]


def viewed(x, view):
    return {"as it is": x, "reversed": x[..., ::-1], "transposed": x.T}[view]


def numbers(shape, dtype):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32).astype(dtype)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize(("shape", "dims", "view"), CASES, ids=str)
def test_sums_and_means_are_rounded_once(kernel, shape, dims, view, dtype):
    x = viewed(numbers(shape, dtype), view)
    wide = x.astype(np.float64)
    sizes = np.abs(wide).sum(dims)
    for name, expected in (("sum", wide.sum(dims)), ("mean", wide.mean(dims))):
        made = np.asarray(kernel(name, x, dims))
        assert made.dtype == dtype
        assert made.shape == expected.shape
        assert made.flags.c_contiguous
        scale = 1 if name == "sum" else x.size / max(made.size, 1)
        # Half a unit of the dtype, and what sums in single precision may be off.
        unit = np.abs(expected) * float(ml_dtypes.finfo(dtype).eps) / 2
        least = float(ml_dtypes.finfo(dtype).smallest_subnormal)
        bound = unit * 1.0001 + sizes / scale * 2e-6 + least
        assert (np.abs(made.astype(np.float64) - expected) <= bound).all()


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize(("shape", "dims", "view"), CASES, ids=str)
def test_extrema_are_numpys(kernel, shape, dims, view, dtype):
    x = numbers(shape, dtype)
    x.reshape(-1)[12345] = np.nan
    x.reshape(-1)[777] = -np.inf
    x = viewed(x, view)
    wide = x.astype(np.float64)
    for name, reduce in (("amax", np.max), ("amin", np.min)):
        made = np.asarray(kernel(name, x, () if dims is None else dims))
        assert made.dtype == dtype
        np.testing.assert_array_equal(made.astype(np.float64), reduce(wide, axis=dims))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_dimensions_that_are_kept_and_numbers_beyond(kernel, dtype):
    x = np.full((300, 400), 1000, dtype)
    assert kernel("sum", x, (1,), True).shape == (300, 1)
    assert kernel("mean", x, None, True).shape == (1, 1)
    assert kernel("amax", x, (0,), True).shape == (1, 400)
    assert float(np.asarray(kernel("mean", x))) == 1000  # the sum is more than float16 can hold
    if dtype == np.float16:
        assert np.isposinf(np.asarray(kernel("sum", x)))
    values, places = kernel("max.dim", x, 1)
    assert values.dtype == dtype
    assert (places == 0).all()
    assert np.asarray(kernel("sum", np.empty((0, 400), dtype), (0,))).tolist() == [0] * 400


@pytest.mark.parametrize("dtype", (np.dtype(np.float32), *HALVES), ids=str)
@pytest.mark.parametrize("shape", ((30_000, 8), (2_000, 33), (1_024, 16), (12, 1_500), (70_001,)))
def test_products_of_rows(kernel, shape, dtype):
    x = np.random.default_rng(0).uniform(0.93, 1.07, shape).astype(np.float32).astype(dtype)
    expected = x.astype(np.float64).prod(-1)
    made = np.asarray(kernel("prod", x, -1))
    assert made.dtype == dtype
    assert made.shape == expected.shape
    rounded = float(ml_dtypes.finfo(dtype).eps) / 2
    steps = shape[-1] * float(np.finfo(np.float32).eps)
    np.testing.assert_allclose(
        made.astype(np.float64), expected, rtol=rounded + steps, atol=2.0**-24
    )
    assert kernel("prod", x, -1, True).shape == (*shape[:-1], 1)
