"""Borders of an array's own elements against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
SHAPES = (((2, 7), (3, 6)), ((3, 5, 6), (2, 1, 0, 4)), ((2, 4, 3, 5), (4, 3, 2, 0, 1, 3)))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("times", (1, 300), ids=("small", "large"))
@pytest.mark.parametrize(("shape", "pad"), SHAPES)
def test_a_border_is_what_numpy_makes_and_its_gradient_comes_back(shape, pad, mode, times, kernel):
    generator = np.random.default_rng(0)
    x = generator.standard_normal((shape[0] * times, *shape[1:]))
    pairs = [tuple(pad[place : place + 2]) for place in range(0, len(pad), 2)][::-1]
    around = [(0, 0)] * (x.ndim - len(pairs)) + pairs
    expected = np.pad(x, around, mode=MODES[mode])
    turned = np.asfortranarray(x)
    for each in (x, turned):
        made = kernel("_bordered", each, pad, mode)
        np.testing.assert_array_equal(made, expected)
        assert made.flags.c_contiguous
    grad = generator.standard_normal(expected.shape)
    back = kernel("_bordered_backward", grad, pad, mode, x.shape)
    # The transposed map: both products are the same number.
    assert np.vdot(grad, expected) == pytest.approx(np.vdot(back, x))
    assert back.shape == x.shape
    # Of ones each element counts how often it is taken.
    ones = kernel("_bordered_backward", np.ones_like(grad), pad, mode, x.shape)
    places = np.pad(np.arange(x.size).reshape(x.shape), around, mode=MODES[mode])
    np.testing.assert_array_equal(ones.reshape(-1), np.bincount(places.reshape(-1)))
