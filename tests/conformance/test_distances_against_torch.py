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


@pytest.mark.parametrize("order", ORDERS[:-1])  # of infinity, PyTorch's lose NaN
def test_distances_of_two_sets(order: float) -> None:
    rows = [[1.0, 2.0, 0.0], [float("nan"), 2.0, float("inf")], [1.0, 2.5, -0.0]]
    found, expected = [
        lib.cdist(lib.tensor(rows), lib.tensor(rows[:2]), order) for lib in (dovetail, torch)
    ]
    np.testing.assert_allclose(found.cpu().numpy(), expected.numpy(), 1e-6)
