"""Solutions of systems that have no equations, no sides, or come in batches of none."""

from __future__ import annotations

import pytest

import dovetail
from dovetail import linalg


@pytest.mark.parametrize("name", ["cholesky_solve", "lu_solve"])
@pytest.mark.parametrize(
    ("factor", "sides"), [((2, 2), (2, 0)), ((0, 0), (0, 3)), ((0, 2, 2), (0, 2, 3))]
)
def test_a_solution_without_elements_has_its_shape(
    name: str, factor: tuple[int, ...], sides: tuple[int, ...]
) -> None:
    one, right = dovetail.ones(factor), dovetail.zeros(sides)
    if name == "lu_solve":
        made = linalg.lu_solve(one, dovetail.ones(factor[:-1], dtype=dovetail.int32), right)
    else:
        made = dovetail.cholesky_solve(right, one)
    assert (tuple(made.shape), made.dtype) == (sides, right.dtype)


@pytest.mark.parametrize("shape", [(0, 0), (0, 2, 2)])
def test_the_inverse_of_nothing_is_nothing(shape: tuple[int, ...]) -> None:
    made = dovetail.cholesky_inverse(dovetail.zeros(shape))
    assert tuple(made.shape) == shape


def test_a_product_of_no_reflections_is_the_identity() -> None:
    made = linalg.householder_product(dovetail.full((2, 3, 2), 5.0), dovetail.zeros(2, 0))
    assert made.tolist() == [[[1, 0], [0, 1], [0, 0]]] * 2
    other = dovetail.arange(6.0).reshape(3, 2)
    product = dovetail.ormqr(dovetail.zeros(3, 0), dovetail.zeros(0), other)
    assert product.tolist() == other.tolist()
    product.zero_()
    assert other.tolist() == [[0, 1], [2, 3], [4, 5]]
