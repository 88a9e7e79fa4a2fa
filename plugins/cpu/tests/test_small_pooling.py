"""What small images are pooled to is what the generic kernels make of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dovetail_aten.array_kernels.average_pooling import AveragePooling
from dovetail_aten.array_kernels.max_pooling import MaxPooling
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
