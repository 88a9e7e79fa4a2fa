"""The first derivative of digamma against SciPy's zeta function, of which it is a value."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail

special = pytest.importorskip("scipy.special")


@pytest.mark.parametrize("sign", (1, -1))
def test_trigamma_is_as_exact_as_the_sum_that_it_is(sign):
    random = np.random.default_rng(0)
    x = np.concatenate([10 ** random.uniform(-8, 8 if sign > 0 else 2, 9000), np.arange(0.25, 40)])
    found = dovetail.polygamma(1, dovetail.tensor(sign * x, dtype=dovetail.float64))
    np.testing.assert_allclose(found.cpu().numpy(), special.zeta(2, sign * x), 4e-14)


@pytest.mark.parametrize("dtype", (dovetail.float32, dovetail.float64))
def test_trigamma_at_poles_and_at_infinity(dtype):
    poles = dovetail.tensor([0.0, -0.0, -1.0, -7.0, -1e30], dtype=dtype)
    assert dovetail.polygamma(1, poles).tolist() == [float("inf")] * 5
    large = dovetail.tensor([1e30, float("inf")], dtype=dtype)
    np.testing.assert_allclose(dovetail.polygamma(1, large).tolist(), [1e-30, 0.0], 1e-6)
    none = dovetail.tensor([-float("inf"), float("nan")], dtype=dtype)
    assert dovetail.polygamma(1, none).isnan().all()
    assert dovetail.polygamma(1, dovetail.empty(0, dtype=dtype)).shape == (0,)


def test_trigamma_of_many_numbers_lies_in_memory_as_they_do():
    x = dovetail.rand(110, 90).t()
    found = dovetail.polygamma(1, x)
    assert found.stride() == x.stride()
    assert found.equal(dovetail.stack([dovetail.polygamma(1, row) for row in x]))
