"""The error functions against those of the standard library."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dovetail_cpu import CpuArrays

POINTS = np.concatenate(
    [np.linspace(-6.5, 6.5, 4001), np.linspace(-0.5, 0.5, 501), [26.0, -30.0, 1e-300]]
)
FUNCTIONS = ("erf", "erfc")


def by_kernel(name, points):
    return getattr(CpuArrays(), name)(points)


def by_math(name, points):
    return np.array([getattr(math, name)(each) for each in points.tolist()])


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("dtype", "units"), [(np.float64, 20), (np.float32, 4), (np.float16, 1)])
def test_the_relative_error_is_what_scipy_has(name, dtype, units):
    points = POINTS.astype(dtype)
    found, expected = by_kernel(name, points), by_math(name, points)
    assert found.dtype == dtype
    info = np.finfo(dtype)
    np.testing.assert_allclose(
        found.astype(np.float64), expected, rtol=units * info.eps, atol=float(info.tiny)
    )


@pytest.mark.parametrize("size", (6, 600))
@pytest.mark.parametrize("dtype", (np.float64, np.float32))
@pytest.mark.parametrize("name", FUNCTIONS)
def test_limits_zeros_and_nan(name, dtype, size):
    points = np.tile(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 40.0], dtype), size // 6)
    found = by_kernel(name, points)[:6]
    np.testing.assert_array_equal(found, by_math(name, points[:6]).astype(dtype))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(by_math(name, points[:6])))


def test_erf_never_exceeds_one():
    assert np.abs(by_kernel("erf", np.linspace(-9, 9, 100_001).astype(np.float32))).max() == 1


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shape", ((), (0, 3), (20, 30)))
def test_the_shape_is_kept(name, shape):
    assert by_kernel(name, np.ones(shape, np.float32)).shape == shape


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", (np.float64, np.float32))
def test_a_strided_input_gives_what_its_copy_gives(name, dtype):
    points = np.linspace(-3, 3, 3000).astype(dtype).reshape(50, 60).T[::2]
    np.testing.assert_array_equal(by_kernel(name, points), by_kernel(name, points.copy()))
