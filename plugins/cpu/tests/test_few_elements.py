"""What computes few elements agrees with the kernels that it takes the place of."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dovetail_aten.kernel_support.family import Family
from dovetail_cpu import CpuArrays, blocks
from dovetail_cpu.few_elements import few_of
from dovetail_kernel import float16, float32, int64

NAMES = ("sigmoid", "silu", "gelu", "erf", "erfc")
EXACT = {
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)) if x > -700 else 0.0,
    "silu": lambda x: x / (1 + math.exp(-x)) if x > -700 else 0.0 * x,
    "gelu": lambda x: x * math.erfc(-x * math.sqrt(0.5)) / 2,
    "erf": math.erf,
    "erfc": math.erfc,
}
ODD = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-30, -1e-30, 30.0, -30.0, 5.5, -5.5]


def function(table, name):
    kernel = table.kernels[name]
    return kernel.fast_path if few_of(kernel.fn) is None else kernel.fn


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_it_is_within_some_units_of_the_exact_value(name, dtype, table):
    x = np.linspace(-9, 9, 181).astype(dtype)
    found = few_of(function(table, name)).load()(x)
    exact = np.array([EXACT[name](each) for each in x.tolist()])
    assert found.dtype == dtype
    ulps = np.abs(found - exact) / np.spacing(np.abs(exact).astype(dtype))
    # Of gelu the tail has x * x times the error of its argument.
    bound = 16 + x * x if name == "gelu" else 4
    if few_of(function(table, name)).dtypes != (float32,) or dtype == "float32":
        assert (ulps <= bound).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(), (0,), (11,), (4, 3), (2, 2, 5)])
def test_it_agrees_with_the_kernel(name, dtype, shape, table):
    kernel = function(table, name)
    few, size = few_of(kernel).load(), math.prod(shape)
    line = np.resize(np.array([*ODD, *np.linspace(-4, 4, 13)], dtype), 2 * size + 1)
    for x in (line[:size].reshape(shape), line[: 2 * size : 2].reshape(shape)):
        for each in (x, x.T):
            with np.errstate(all="ignore"):
                found, expected = np.asarray(few(each)), np.asarray(kernel(each))
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            eps = np.finfo(dtype).eps
            np.testing.assert_allclose(
                found, expected, 99 * eps, 4 * eps if name == "gelu" else 1e-99
            )
            if np.asarray(each).size > 1 and each.flags.forc:
                assert found.strides == expected.strides


@pytest.mark.parametrize("name", NAMES)
def test_a_route_asks_for_it_for_floating_point_numbers_alone(name, table):
    arrays, kernel = CpuArrays(), function(table, name)
    for dtype in few_of(kernel).dtypes:
        assert arrays.by_size(kernel, dtype).least == few_of(kernel).least
    for dtype in (float16, int64, None):
        found = arrays.by_size(kernel, dtype)
        assert found is None or found.few == kernel


def test_no_kernel_is_marked_that_is_not_tested(table):
    def is_marked(each):
        return any([few_of(f) is not None for f in (each.fn, each.fast_path) if f is not None])

    marked = {name for name in table.kernels if is_marked(table.kernels[name])}
    assert marked == set(NAMES)
    assert isinstance(table.kernels["sigmoid"].fn.__self__, Family)


def test_many_elements_are_computed_in_blocks_by_what_a_route_calls(table, monkeypatch):
    """So that marking a kernel for few elements leaves out no step for many."""
    calls = []
    written = blocks.written
    monkeypatch.setattr(blocks, "written", lambda *args: calls.append(args) or written(*args))
    x = np.ones(blocks._WHOLE + 1, np.float32)
    for name in ("sigmoid", "silu", "gelu", "erf"):
        calls.clear()
        CpuArrays().by_size(function(table, name), float32).many(x)
        assert calls, name
