"""Large systems of equations are solved as exactly as NumPy solves them."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail

ORDERS = {
    "rows": lambda x: x,
    "columns": np.asfortranarray,
    "gaps": lambda x: np.repeat(x, 2, 1)[:, ::2],
}


def solved(matrix, sides):
    return dovetail.linalg.solve(dovetail.from_numpy(matrix), dovetail.from_numpy(sides)).numpy()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("equations", "columns"), [(127, 128), (128, 128), (150, 301), (300, 130)])
def test_solutions_of_large_systems(dtype, equations, columns, order):
    rng = np.random.default_rng(equations)
    matrix = ORDERS[order](rng.standard_normal((equations, equations)).astype(dtype))
    sides = ORDERS[order](rng.standard_normal((equations, columns)).astype(dtype))
    before = matrix.copy(), sides.copy()
    made, expected = solved(matrix, sides), np.linalg.solve(matrix, sides)
    limit = 1e-6 if dtype == "float32" else 1e-9
    assert made.dtype == dtype
    np.testing.assert_allclose(made, expected, limit, limit * np.abs(expected).max())
    np.testing.assert_array_equal(matrix, before[0])
    np.testing.assert_array_equal(sides, before[1])


def test_a_large_singular_matrix_is_refused():
    matrix = np.ones((130, 130), np.float32)
    with pytest.raises(dovetail.linalg.LinAlgError, match="singular"):
        solved(matrix, matrix)


def test_no_number_in_a_large_matrix_leaves_none():
    matrix = np.eye(130)
    matrix[3, 4] = np.nan
    assert np.isnan(solved(matrix, np.ones((130, 130)))).any()


def test_solutions_on_the_right_side():
    rng = np.random.default_rng(0)
    matrix, sides = rng.standard_normal((2, 140, 140))
    made = dovetail.linalg.solve(
        dovetail.from_numpy(matrix), dovetail.from_numpy(sides), left=False
    )
    np.testing.assert_allclose(made.numpy() @ matrix, sides, 1e-8, 1e-8)
