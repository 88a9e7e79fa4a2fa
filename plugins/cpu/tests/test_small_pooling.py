"""What small images are pooled to is what the generic kernels make of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dovetail_aten.families.pooling.kernels.average_pooling import AveragePooling
from dovetail_aten.families.pooling.kernels.max_pooling import MaxPooling
from dovetail_cpu.arrays import CpuArrays
from dovetail_cpu.fast_averages import FastAveragePooling
from dovetail_cpu.fast_maxima import FastMaxPooling


def images(rng: np.random.Generator, ndim: int, dtype: Any) -> Any:
    """Return images with equal elements and, if they can have them, NaN, infinities and -0."""
    shape = [*rng.integers(1, 4, int(rng.integers(1, 3))), *rng.integers(3, 9, ndim)]
    made = rng.integers(-3, 4, shape).astype(dtype)
    if made.dtype.kind == "f" and rng.random() < 0.5:
        odd = rng.choice([np.nan, np.inf, -np.inf, -0.0])
        made[rng.random(shape) < 0.2] = odd
    return made if rng.random() < 0.5 else made.swapaxes(-1, -2)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "u1"])
@pytest.mark.parametrize("ndim", [2, 3])
def test_maxima_of_small_images_and_their_places_are_the_generic_ones(ndim, dtype):
    rng = np.random.default_rng(ndim)
    fast, generic = (
        getattr(family(np, CpuArrays()), f"max_pool{ndim}d")
        for family in (FastMaxPooling, MaxPooling)
    )
    for _ in range(150):
        x = images(rng, ndim, dtype)
        kernel, stride = rng.integers(1, 4, ndim), rng.integers(1, 4, ndim)
        padding = [int(rng.integers(0, each // 2 + 1)) for each in kernel]
        dilation = rng.integers(1, 3, ndim)
        how = [tuple(map(int, each)) for each in (kernel, stride, padding, dilation)]
        ceil_mode = bool(rng.random() < 0.3)
        try:
            expected = generic(x, *how, ceil_mode)
        except RuntimeError:
            continue
        for own, other in zip(fast(x, *how, ceil_mode), expected, strict=True):
            assert own.dtype == other.dtype
            assert own.flags.c_contiguous
            assert own.tobytes() == other.tobytes()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("ndim", [2, 3])
def test_averages_of_small_images_are_the_generic_ones(ndim, dtype):
    rng = np.random.default_rng(ndim)
    fast, generic = (family(np, CpuArrays()) for family in (FastAveragePooling, AveragePooling))
    for _ in range(150):
        x = images(rng, ndim, dtype)
        kernel, stride = rng.integers(1, 4, ndim), rng.integers(1, 4, ndim)
        padding = [
            int(rng.integers(0, each // 2 + 1)) if rng.random() < 0.3 else 0 for each in kernel
        ]
        how = [tuple(map(int, each)) for each in (kernel, stride, padding)]
        for name, args in (
            (f"avg_pool{ndim}d", (*how, bool(rng.random() < 0.3), bool(rng.random() < 0.5))),
            (f"adaptive_avg_pool{ndim}d", (tuple(map(int, rng.integers(1, 4, ndim))),)),
        ):
            with np.errstate(invalid="ignore"):
                try:
                    expected = getattr(generic, name)(x, *args)
                except RuntimeError:
                    continue
                found = getattr(fast, name)(x, *args)
            assert found.dtype == expected.dtype
            assert found.flags.c_contiguous
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "u1"])
@pytest.mark.parametrize("ndim", [2, 3])
def test_maxima_of_nearly_equal_windows_are_the_generic_ones(ndim, dtype):
    rng = np.random.default_rng(ndim)
    fast, generic = (
        getattr(family(np, CpuArrays()), f"adaptive_max_pool{ndim}d")
        for family in (FastMaxPooling, MaxPooling)
    )
    for _ in range(100):
        x = images(rng, ndim, dtype)
        sizes = tuple(map(int, rng.integers(0, 6, ndim)))
        for own, other in zip(fast(x, sizes), generic(x, sizes), strict=True):
            assert (own.dtype, own.shape) == (other.dtype, other.shape)
            assert own.flags.c_contiguous
            assert own.tobytes() == other.tobytes()


@pytest.mark.parametrize("ndim", [2, 3])
def test_gradients_of_averages_of_small_images_are_the_generic_ones(ndim):
    rng = np.random.default_rng(ndim)
    fast, generic = (family(np, CpuArrays()) for family in (FastAveragePooling, AveragePooling))
    for _ in range(100):
        x = images(rng, ndim, "f8")
        kernel, stride = rng.integers(1, 4, ndim), rng.integers(1, 4, ndim)
        how = [tuple(map(int, each)) for each in (kernel, stride, [0] * ndim)]
        try:
            made = getattr(generic, f"avg_pool{ndim}d")(x, *how)
        except RuntimeError:
            continue
        grad = rng.standard_normal(made.shape)
        found, expected = (
            getattr(each, f"avg_pool{ndim}d_backward")(grad, x, *how) for each in (fast, generic)
        )
        assert found.flags.c_contiguous
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("dtype", ["f4", "i8"])
@pytest.mark.parametrize("sizes", [(1, 2), (3, 3), (2, 40)])
def test_few_large_windows_give_what_the_generic_kernels_do(sizes, dtype):
    x = (np.random.default_rng(0).standard_normal((4, 5, 31, 40)) * 99).astype(dtype)
    for each in (x, x.swapaxes(-1, -2)):
        pools = (family(np, CpuArrays()) for family in (FastMaxPooling, MaxPooling))
        found, expected = (pool.adaptive_max_pool2d(each, sizes) for pool in pools)
        for own, other in zip(found, expected, strict=True):
            assert own.dtype == other.dtype
            np.testing.assert_array_equal(own, other)
        fast, generic = (family(np, CpuArrays()) for family in (FastAveragePooling, AveragePooling))
        made = generic.adaptive_avg_pool2d(each, sizes)
        np.testing.assert_allclose(
            fast.adaptive_avg_pool2d(each, sizes), made, rtol=2e-5, atol=1e-3
        )
        back = [pool.adaptive_avg_pool2d_backward(made, each) for pool in (fast, generic)]
        np.testing.assert_allclose(*back, rtol=2e-5, atol=1e-3)


def test_the_last_of_several_nans_is_the_maximum_of_a_large_window():
    x = np.zeros((2, 100, 100), "f4")
    x[0, 3, 4] = x[0, 30, 40] = np.nan
    values, places = FastMaxPooling(np, CpuArrays()).adaptive_max_pool2d(x, (1, 1))
    assert np.isnan(values[0, 0, 0])
    assert places.tolist() == [[[3040]], [[0]]]
