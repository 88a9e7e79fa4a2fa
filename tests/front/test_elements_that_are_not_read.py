"""Elements of a matrix that an operator does not read change no result, no gradient of first or
second order, and no tangent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.func import jvp

rng = np.random.default_rng(3)
RIGHT, COEFFICIENTS = dt.tensor(rng.standard_normal((3, 2))), dt.tensor(rng.standard_normal((4, 2)))
SCALES = dt.tensor(rng.standard_normal(3))
SQUARE = rng.standard_normal((3, 3))
POSITIVE = SQUARE @ SQUARE.T + 3 * np.eye(3)
LOWER, UPPER = np.linalg.cholesky(POSITIVE), np.triu(POSITIVE)
REFLECTIONS = np.tril(rng.standard_normal((4, 3)), -1)
ABOVE, BELOW = np.triu(SQUARE, 1), np.tril(SQUARE, -1)

CASES: dict[str, tuple[Any, Any, Callable[[Any], Any]]] = {
    "cholesky_solve": (LOWER, ABOVE, lambda x: dt.cholesky_solve(RIGHT, x)),
    "cholesky_solve, upper": (LOWER.T, BELOW, lambda x: dt.cholesky_solve(RIGHT, x, True)),
    "cholesky_inverse": (LOWER, ABOVE, dt.cholesky_inverse),
    "cholesky_inverse, upper": (LOWER.T, BELOW, lambda x: dt.cholesky_inverse(x, True)),
    "solve_triangular": (UPPER, BELOW, lambda x: dt.linalg.solve_triangular(x, RIGHT, upper=True)),
    "solve_triangular with ones": (
        ABOVE + np.eye(3),
        np.tril(SQUARE),
        lambda x: dt.linalg.solve_triangular(x, RIGHT, upper=True, unitriangular=True),
    ),
    "householder_product": (
        REFLECTIONS,
        np.triu(rng.standard_normal((4, 3))),
        lambda x: dt.linalg.householder_product(x, SCALES),
    ),
    "ormqr": (
        REFLECTIONS,
        np.triu(rng.standard_normal((4, 3))),
        lambda x: dt.ormqr(x, SCALES, COEFFICIENTS),
    ),
    "cholesky": (POSITIVE, ABOVE, dt.linalg.cholesky),
    "eigvalsh": (POSITIVE, ABOVE, dt.linalg.eigvalsh),
    "eigh": (POSITIVE, ABOVE, lambda x: dt.linalg.eigh(x)[1] ** 2),
}


def outcomes(function: Callable[[Any], Any], matrix: Any) -> list[Any]:
    x = dt.tensor(np.ascontiguousarray(matrix)).requires_grad_()
    result = function(x)
    weights = dt.tensor(np.random.default_rng(1).standard_normal(result.shape))
    direction = dt.tensor(np.random.default_rng(2).standard_normal(x.shape))
    (first,) = dt.autograd.grad((result * weights).sum(), x, create_graph=True)
    (second,) = dt.autograd.grad((first * direction).sum(), x)
    tangent = jvp(function, (x.detach(),), (direction,))[1]
    return [each.detach().cpu().numpy() for each in (result, first, second, tangent)]


@pytest.mark.parametrize("name", CASES)
def test_elements_that_are_not_read_do_not_count(name: str) -> None:
    matrix, unread, function = CASES[name]
    for found, wanted in zip(
        outcomes(function, matrix + unread), outcomes(function, matrix), strict=True
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in CASES if "cholesky_" in name])
def test_no_gradient_of_second_order_belongs_to_them(name: str) -> None:
    matrix, unread, function = CASES[name]
    second = outcomes(function, matrix)[2]
    assert not second[unread != 0].any()
