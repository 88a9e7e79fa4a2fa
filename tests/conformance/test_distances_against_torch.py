"""Distances of every two vectors: as many as fit into several blocks, none, and NaN among them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dovetail

torch = pytest.importorskip("torch")

ORDERS = (0.0, 1.0, 2.0, 2.5, float("inf"))


@pytest.mark.parametrize("special", (False, True))
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shape", ((0, 3), (1, 3), (2, 1), (5, 0), (7, 4), (300, 20), (3, 70000)))
def test_distances_of_every_pair(shape: Any, order: float, special: bool) -> None:
    random = np.random.default_rng(0)
    values = random.normal(size=shape)
    if special and values.size:
        places = random.integers(0, values.size, 3)
        values.reshape(-1)[places] = np.nan, np.inf, -0.0
    made = [lib.nn.functional.pdist(lib.tensor(values), order) for lib in (dovetail, torch)]
    found, expected = [each.cpu().numpy() for each in made]
    np.testing.assert_allclose(found, expected, 1e-12)


ROWS = [[1.0, 2.0, 0.0], [float("nan"), 2.0, float("inf")], [1.0, 2.5, -0.0]]


@pytest.mark.parametrize("order", ORDERS[:-1])
def test_distances_of_two_sets(order: float) -> None:
    found, expected = [
        lib.cdist(lib.tensor(ROWS), lib.tensor(ROWS[:2]), order) for lib in (dovetail, torch)
    ]
    np.testing.assert_allclose(found.cpu().numpy(), expected.numpy(), 1e-6)


@pytest.mark.parametrize("width", (1, 3, 8, 33))
@pytest.mark.parametrize("dtype", ("float32", "float64"))
def test_the_greatest_difference_of_nan_is_nan(dtype: str, width: int) -> None:
    rows = np.arange(2.0 * width, dtype=dtype).reshape(2, width)
    rows[0, -1] = np.nan
    found, of_pairs = [
        [lib.cdist(x, x, float("inf")).cpu().numpy(), lib.nn.functional.pdist(x, float("inf"))]
        for lib in (dovetail, torch)
        for x in [lib.tensor(rows)]
    ]
    assert np.isnan(found[0]).tolist() == [[True, True], [True, False]]
    assert np.isfinite(of_pairs[0]).all()  # PyTorch leaves NaN out here,
    assert np.isnan([found[1].item(), of_pairs[1].item()]).all()  # and not here


def test_what_nan_adds_to_gradients() -> None:
    found = []
    for lib in (dovetail, torch):
        x = lib.tensor([[1.0, float("nan")], [2.0, 3.0]], requires_grad=True)
        lib.cdist(x, lib.zeros(1, 2), 1.0).sum().backward()
        found.append(np.isnan(x.grad.cpu().numpy()).tolist())
    assert found == [[[False, False]] * 2, [[False, True], [False, False]]]
