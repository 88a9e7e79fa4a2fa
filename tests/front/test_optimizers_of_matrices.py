"""Optimizers that look at whole parameters: what Muon, Adafactor and L-BFGS promise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dovetail
from dovetail import nn, optim


def orthogonal_by_numpy(matrix: Any, steps: int = 5) -> Any:
    """Return what Muon's iterations give in exact arithmetic."""
    a, b, c = 3.4445, -4.775, 2.0315
    result = matrix / np.linalg.norm(matrix)
    for _ in range(steps):
        gram = result @ result.T
        result = a * result + (b * gram + c * gram @ gram) @ result
    return result


@pytest.mark.parametrize("shape", [(4, 6), (6, 4), (5, 5)])
def test_a_step_of_muon_is_about_an_orthogonal_matrix(shape: tuple[int, int]) -> None:
    left, _, right = np.linalg.svd(np.random.default_rng(1).standard_normal(shape), False)
    gradient = left @ np.diag(np.linspace(0.5, 1.5, min(shape))) @ right
    parameter = nn.Parameter(dovetail.zeros(*shape, dtype=dovetail.float64))
    parameter.grad = dovetail.tensor(gradient)
    optim.Muon([parameter], lr=1.0, weight_decay=0.0).step()
    step = -parameter.detach().cpu().numpy() / max(1.0, shape[0] / shape[1]) ** 0.5
    wide = gradient if shape[0] <= shape[1] else gradient.T
    exact = orthogonal_by_numpy(wide)
    np.testing.assert_allclose(
        step, exact if shape[0] <= shape[1] else exact.T, atol=0.1
    )  # bfloat16
    sizes = np.linalg.svd(step, compute_uv=False)
    assert sizes.min() > 0.6
    assert sizes.max() < 1.3


def test_the_state_of_adafactor_grows_with_the_sum_of_the_sides_of_a_matrix() -> None:
    matrix = nn.Parameter(dovetail.ones(30, 20))
    vector = nn.Parameter(dovetail.ones(5))
    optimizer = optim.Adafactor([matrix, vector])
    for each in (matrix, vector):
        each.grad = dovetail.ones_like(each)
    optimizer.step()
    sizes = {name: value.numel() for name, value in optimizer.state[matrix].items()}
    assert sizes == {"step": 1, "row_var": 30, "col_var": 20}
    assert optimizer.state[vector]["variance"].numel() == 5


@pytest.mark.parametrize(
    ("search", "bend", "height"), [(None, 0.0, 4.84), ("strong_wolfe", 1.0, 24.2)]
)
def test_lbfgs_finds_the_minimum_of_a_valley(
    search: str | None, bend: float, height: float
) -> None:
    x = nn.Parameter(dovetail.tensor([-1.2, 1.0], dtype=dovetail.float64))
    optimizer = optim.LBFGS([x], lr=1 if search else 0.5, max_iter=100, line_search_fn=search)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = 100 * (x[1] - 1 + bend * (1 - x[0] ** 2)) ** 2 + (1 - x[0]) ** 2
        loss.backward()
        return loss

    first = optimizer.step(closure)
    assert first.item() == pytest.approx(height)
    assert x.tolist() == pytest.approx([1.0, 1.0], abs=1e-4)


def test_lbfgs_remembers_no_more_steps_than_asked() -> None:
    x = nn.Parameter(dovetail.tensor([2.0, -3.0, 1.0], dtype=dovetail.float64))
    optimizer = optim.LBFGS([x], lr=0.3, history_size=3, max_iter=8)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (x**4).sum() + (x[0] * x[1] - 1) ** 2
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure)
    state = optimizer.state[x]
    assert len(state["old_dirs"]) == len(state["old_stps"]) == len(state["ro"]) == 3
    assert state["n_iter"] == 24
