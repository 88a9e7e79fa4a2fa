"""Running sums, products and logarithms of sums at the sizes of programs: PyTorch holds those of
single precision in double, so that none of many steps loses a digit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import dovetail

SHAPES = (
    ((5,), 0),
    ((300,), 0),
    ((2**14 - 1,), 0),
    ((2**15 + 5,), 0),
    ((40, 700), 1),
    ((70_000, 3), 0),
    ((1500, 300), 0),
    ((3, 900, 300), 1),
    ((30, 300, 7), 1),
    ((2, 40_000), 1),
)
"""Shapes and dimensions: few and many elements, long rows, tall columns of short and long rows."""
NAMES = ("cumsum", "cumprod", "logcumsumexp")


def numbers(name: str, shape: tuple[int, ...]) -> Any:
    made = np.random.default_rng(0).standard_normal(shape)
    return 1 + made / 100 if name == "cumprod" else made


LEAST = 4e-7
"""An error that a few roundings make, which is as good as PyTorch's."""


@pytest.mark.parametrize(("shape", "dim"), SHAPES, ids=lambda each: str(each).replace(" ", ""))
@pytest.mark.parametrize("name", NAMES)
def test_running_results_lose_no_digits(name, shape, dim):
    if name == "logcumsumexp" and np.prod(shape) > 2**16:
        pytest.skip("takes long in both libraries")
    plain = torch.from_numpy(numbers(name, shape).astype(np.float32))
    exact = getattr(torch, name)(plain.double(), dim).numpy()
    scale = np.maximum(np.abs(exact), 1)
    theirs = getattr(torch, name)(plain, dim).numpy()
    allowed = max(4 * (np.abs(theirs - exact) / scale).max(), LEAST)
    x = dovetail.from_numpy(plain.numpy())
    turned = tuple(range(x.ndim))[::-1]
    orders = [x, x.permute(turned).contiguous().permute(turned), dovetail.stack([x, x], -1)[..., 0]]
    for each in orders if x.numel() < 2**17 else orders[:1]:
        found = getattr(dovetail, name)(each, dim).numpy()
        assert (np.abs(found - exact) / scale).max() <= allowed


@pytest.mark.parametrize("count", (3, 40, 20_000))
@pytest.mark.parametrize("dim", (0, 1))
def test_what_overflows_on_the_way_comes_back(count, dim):
    sums = np.zeros((count, count if count < 100 else 3), np.float32)
    sums[:3] = [[3e38], [3e38], [-3e38]]
    products = np.ones_like(sums)
    products[:3] = [[1e30], [1e30], [1e-30]]
    for name, x in (("cumsum", sums), ("cumprod", products)):
        x = np.ascontiguousarray(x if dim == 0 else x.T)
        ours, theirs = [
            getattr(lib, name)(lib.from_numpy(x), dim).numpy() for lib in (dovetail, torch)
        ]
        np.testing.assert_allclose(ours, theirs, 1e-6)


@pytest.mark.parametrize("place", (0, 7, 16, 17, 20_001))
@pytest.mark.parametrize("number", (np.inf, -np.inf, np.nan, 3e38))
def test_infinities_reach_what_follows_them_alone(number, place):
    x = numbers("cumsum", (20_005,)).astype(np.float32)
    x[place] = number
    ours, theirs = [lib.from_numpy(x).cumsum(0).numpy() for lib in (dovetail, torch)]
    np.testing.assert_allclose(ours, theirs, 1e-5, 1e-4)


def test_a_dtype_that_is_asked_for_is_held_in_double_too():
    x = numbers("cumsum", (100_000,))
    exact = x.astype(np.float32).astype(float).cumsum()
    for given in (x, x.astype(np.float32)):
        found = dovetail.from_numpy(given).cumsum(0, dtype=dovetail.float32)
        assert found.dtype is dovetail.float32
        assert np.abs(found.numpy() - exact).max() <= 1e-6 * np.abs(exact).max()


def test_complex_numbers_are_held_in_double_too():
    x = (numbers("cumsum", (40_000,)) + 1j * numbers("cumsum", (40_000,))[::-1]).astype("c8")
    exact = x.astype(complex).cumsum()
    found = dovetail.from_numpy(x).cumsum(0)
    assert found.dtype is dovetail.complex64
    assert np.abs(found.numpy() - exact).max() <= 2e-7 * np.abs(exact).max()


@pytest.mark.parametrize("name", ("cumsum", "cumprod"))
@pytest.mark.parametrize("dtype", ("int32", "uint8", "bool", "float16", "int64"))
def test_masked_running_results_keep_the_dtype(name, dtype):
    for given in (None, "float64"):
        ours, theirs = [
            getattr(lib.masked, name)(
                lib.ones(4, 3).to(getattr(lib, dtype)),
                1,
                mask=lib.tensor([True, False, True]).expand(4, 3),
                dtype=given and getattr(lib, given),
            )
            if dtype != "bool" or given
            else lib.zeros(1)
            for lib in (dovetail, torch)
        ]
        assert str(ours.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2]
        assert ours.tolist() == theirs.tolist()
