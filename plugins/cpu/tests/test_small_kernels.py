"""Kernels of few elements give what the generic ones do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dovetail_aten as aten


@pytest.fixture
def both(table, generic_table):
    """Call a kernel of the cpu and the generic one, and compare what they return."""

    def call(name: str, *args: Any, **tolerance: float) -> None:
        with np.errstate(all="ignore"):
            made = [each.kernels[name].fn(*args) for each in (table, generic_table)]
        for found, expected in zip(
            *[each if isinstance(each, tuple) else (each,) for each in made], strict=True
        ):
            assert np.shape(found) == np.shape(expected)
            if np.size(found):
                np.testing.assert_allclose(found, expected, **{"rtol": 1e-9, **tolerance})

    return call


@pytest.mark.parametrize("times", (1, 60), ids=("small", "large"))
@pytest.mark.parametrize("padding", (0, 1))
def test_patches_of_images_and_their_sums_are_the_generic_ones(padding, times, both):
    rng = np.random.default_rng(0)
    how = ((2, 3), (2, 1), (padding, padding), (1, 2))
    both("im2col", rng.standard_normal((2 * times, 3, 6, 7)), *how)
    columns = (4 + 2 * padding) * (3 + padding)
    both("col2im", rng.standard_normal((2 * times, 18, columns)), (6, 7), *how, atol=1e-12)


@pytest.mark.parametrize("groups", (1, 2))
@pytest.mark.parametrize("stride", (1, 2))
def test_transposed_convolutions_of_small_images_are_the_generic_ones(stride, groups, both):
    rng = np.random.default_rng(0)
    x, weight = rng.standard_normal((2, 4, 3, 5)), rng.standard_normal((4, 3, 2, 3))
    weight[0, 0, 0, 0] = np.inf  # what lies beyond the windows is not multiplied by it
    bias = rng.standard_normal(3 * groups)
    how = ((stride, stride), (1, 0), (1, 2), True, (stride - 1, 0), groups)
    both("convolution", x, weight, bias, *how, atol=1e-12)


def test_places_are_drawn_by_their_weights_whatever_their_number(kernel):
    weights = np.array([[0.0, 1.0, 0.0, 3.0], [1.0, 0.0, 0.0, 0.0]])
    for count in (3, 3000):
        aten.manual_seed(0)
        found = kernel("multinomial", weights, count, True)
        assert set(found[0].tolist()) <= {1, 3}
        assert set(found[1].tolist()) == {0}
    aten.manual_seed(0)
    assert found[:, :1].tolist() == kernel("multinomial", weights, 3000, True)[:, :1].tolist()
    with pytest.raises(RuntimeError, match="element < 0"):
        kernel("multinomial", -weights, 2, True)
    with pytest.raises(RuntimeError, match="sum"):
        kernel("multinomial", weights * 0, 2, True)
