"""Functions of few elements are those of many."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail
from dovetail.library import Library
from dovetail.nn import functional as F

pytestmark = pytest.mark.cpu_only(reason="the bounds are those of the cpu backend")

FUNCTIONS = {
    "sigmoid": dovetail.sigmoid,
    "silu": F.silu,
    "gelu": F.gelu,
    "erf": dovetail.erf,
    "erfc": dovetail.erfc,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [dovetail.float32, dovetail.float64])
def test_few_elements_are_computed_as_those_of_many(name, dtype):
    function, x = FUNCTIONS[name], dovetail.linspace(-6, 6, 2048, dtype=dtype)
    many = function(x)
    few = dovetail.cat([function(each) for each in x.split(32)])
    eps = dovetail.finfo(dtype).eps
    np.testing.assert_allclose(few, many, 99 * eps, 4 * eps if name == "gelu" else 0)
    assert function(x[3]).dim() == 0
    np.testing.assert_allclose(function(x[3]), few[3], 99 * eps)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_they_are_recorded_and_written_in_place_alike(name):
    function, x = FUNCTIONS[name], dovetail.randn(5, dtype=dovetail.float64, requires_grad=True)
    assert dovetail.autograd.gradcheck(function, (x,))
    if name != "silu" and name != "gelu":
        y = x.detach().clone()
        assert getattr(y, f"{name}_")() is y
        np.testing.assert_allclose(y, function(x.detach()), 1e-14)


@pytest.mark.parametrize("name", ["sigmoid", "erf", "erfc"])
@pytest.mark.parametrize("dtype", [dovetail.int64, dovetail.bool, dovetail.float16])
def test_other_dtypes_are_computed_by_the_kernel(name, dtype):
    x = dovetail.tensor([0, 1, 1, 0]).to(dtype)
    found, expected = FUNCTIONS[name](x), FUNCTIONS[name](x.to(dovetail.float64))
    np.testing.assert_allclose(found.to(dovetail.float64), expected, 1e-3)


def test_a_kernel_of_the_user_is_called_for_few_elements_too():
    library = Library("aten", "IMPL")
    library.array_impl("erf", lambda x: x * 0 + 7, "CPU")
    try:
        assert dovetail.erf(dovetail.ones(2)).tolist() == [7.0, 7.0]
    finally:
        library._destroy()
    assert dovetail.erf(dovetail.zeros(2)).tolist() == [0.0, 0.0]
