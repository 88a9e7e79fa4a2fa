"""Operators on signs, powers of two and bits where they are at their limits."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail


def test_a_power_of_two_may_overflow_where_the_result_does_not():
    x = dovetail.tensor([1e-37, 1e30, 0.0, float("inf")])
    exponents = dovetail.tensor([140, -160, 300, -400])
    expected = np.ldexp(np.array([1e-37, 1e30], "f"), [140, -160])
    found = dovetail.ldexp(x, exponents).cpu().numpy()
    np.testing.assert_allclose(found[:2], expected)
    assert found[2] == 0
    assert found[3] == np.inf


@pytest.mark.cpu_only(reason="CuPy's kernels take subnormal numbers of float32 for zeros")
def test_a_power_of_two_makes_a_normal_number_of_a_subnormal_one():
    found = dovetail.ldexp(dovetail.tensor([1e-40]), dovetail.tensor([140]))
    np.testing.assert_array_equal(found.numpy(), np.ldexp(np.array([1e-40], "f"), 140))


def test_python_shifts_integers_by_numbers_and_numbers_by_integers():
    x = dovetail.tensor([1, 2, -8])
    assert (x << 2).tolist() == [4, 8, -32]
    assert (x >> 1).tolist() == [0, 1, -4]
    assert (2 << dovetail.tensor([0, 3])).tolist() == [2, 16]
    assert (16 >> dovetail.tensor([0, 3])).tolist() == [16, 2]
    x <<= 1
    assert x.tolist() == [2, 4, -16]
    assert (x << 64).tolist() == [0, 0, 0]
    assert (x >> 70).tolist() == [0, 0, -1]


def test_floats_cannot_be_shifted():
    with pytest.raises(NotImplementedError, match="not implemented for 'Float'"):
        dovetail.ones(2) << 1


def test_division_has_its_old_names():
    x = dovetail.tensor([1.0, 2.0])
    assert x.__rdiv__(4).tolist() == [4, 2]
    assert x.__div__(2).tolist() == [0.5, 1]
    x.__idiv__(2)
    assert x.tolist() == [0.5, 1]


def test_mantissas_and_exponents_have_names():
    found = dovetail.frexp(dovetail.tensor([8.0, -0.375]))
    assert found.mantissa.tolist() == [0.5, -0.75]
    assert found.exponent.tolist() == [4, -1]
    assert found.exponent.dtype is dovetail.int32


def test_a_number_is_rounded_to_decimals():
    x = dovetail.tensor([1.256, -1350.0], dtype=dovetail.float64)
    assert dovetail.round(x, decimals=2).tolist() == [1.26, -1350.0]
    assert dovetail.round(x, decimals=-2).tolist() == [0.0, -1400.0]


def test_a_base_that_is_not_wide_cannot_be_raised_in_place():
    with pytest.raises(RuntimeError, match="the base given to float_power_ has dtype Float"):
        dovetail.ones(2).float_power_(2)
