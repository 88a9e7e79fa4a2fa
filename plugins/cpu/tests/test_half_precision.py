"""Conversions of float16 by bits are NumPy's, for every number and between any two of them."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail_cpu.functions.half_precision import converted

EVERY = np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def same_bits(made, expected):
    integer = np.dtype(f"u{expected.itemsize}")
    nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(made), nan)
    np.testing.assert_array_equal(made[~nan].view(integer), expected[~nan].view(integer))


@pytest.mark.parametrize("which", ("finite", "every"))
def test_every_half_is_widened_exactly(which):
    x = np.tile(EVERY[np.isfinite(EVERY)] if which == "finite" else EVERY, 2)
    made = converted(x, np.dtype(np.float32))
    assert made.dtype == np.float32
    same_bits(made, x.astype(np.float32))


def test_singles_are_rounded_to_even_halves():
    finite = np.sort(EVERY[np.isfinite(EVERY)].astype(np.float32))
    middles = (finite[1:] + finite[:-1]) / 2
    beside = [np.nextafter(middles, np.float32(side)) for side in (-np.inf, np.inf)]
    x = np.concatenate([finite, middles, *beside, -finite])
    same_bits(converted(x, np.dtype(np.float16)), x.astype(np.float16))


def test_what_is_too_large_or_small_is_as_in_numpy():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 1 << 32, 1 << 18, dtype=np.uint32).view(np.float32)
    x[: 1 << 17] = (rng.standard_normal(1 << 17) * 1e-5).astype(np.float32)
    x[:8] = 0.0, -0.0, 1e-45, -1e-45, 2.0**-25, -(2.0**-25), 65519.996, -65519.996
    x[1 << 17 : (1 << 17) + 4] = 65520.0, np.inf, -np.inf, np.nan
    with np.errstate(all="ignore"):
        same_bits(converted(x, np.dtype(np.float16)), x.astype(np.float16))


def test_orders_of_memory_and_what_is_left_to_numpy(kernel):
    x = np.random.default_rng(0).standard_normal((300, 500)).astype(np.float32)
    half = np.dtype(np.float16)
    turned = converted(np.asfortranarray(x), half)
    assert turned.flags.f_contiguous
    np.testing.assert_array_equal(turned, x.astype(half))
    for other in (x[:, ::2], x[:2], x.astype(np.float64)):
        assert converted(other, half) is None
        np.testing.assert_array_equal(kernel("_to_copy", other, dtype=half), other.astype(half))
    assert converted(x, np.dtype(np.float64)) is None
    before = x.copy()
    np.testing.assert_array_equal(kernel("_to_copy", x, dtype=half), x.astype(half))
    np.testing.assert_array_equal(x, before)
