"""Derivatives of norms of matrices where singular values are equal or zero, computed by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dovetail
from dovetail.func import grad, jvp, vmap

norm = dovetail.linalg.matrix_norm

Function = Callable[[Any], Any]


def by_backward(function: Function) -> Function:
    return grad(function)


def by_forward(function: Function) -> Function:
    return lambda t: jvp(function, (t,), (dovetail.ones_like(t),))[1]


def along(name: str, start: list[list[float]], slope: list[list[float]]) -> Function:
    """Return a norm of ``start + t slope`` as a function of t."""
    order = name if name == "nuc" else float(name)
    first, then = (dovetail.tensor(each, dtype=dovetail.float64) for each in (start, slope))
    return lambda t: norm(first + t * then, order)


# With sqrt(1 + t^2) = 1 + t^2 / 2 - t^4 / 8 + ...: twice that is the nuclear norm of a turned and
# stretched plane, and (a + b + sqrt((a - b)^2 + 4 t^2)) / 2 the greater value of [[a, t], [t, b]].
DIAGONAL = [[3.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
RANK_ONE = [[3.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
EQUAL_ABOVE = [[3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 1.0]]
ACROSS = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
ACROSS_BELOW = [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
CASES = {
    "a turn": ("nuc", [[1.0, 0.0], [0.0, 1.0]], [[0.0, -1.0], [1.0, 0.0]], [0.0, 2.0, 0.0, -6.0]),
    "a stretch": ("nuc", [[1.0, 0.0], [0.0, 1.0]], [[0.5, 2.0], [2.0, 1.0]], [1.5, 0.0, 0.0, 0.0]),
    "a turn of a tall matrix": (
        "nuc",
        [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]],
        [[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]],
        [0.0, 1.0, 0.0, -3.0],
    ),
    "equal values below": ("2", DIAGONAL, ACROSS, [0.0, 1.0, 0.0, -3.0]),
    "zeros below": ("2", RANK_ONE, ACROSS, [0.0, 2 / 3, 0.0, -8 / 9]),
    "equal values above": ("-2", EQUAL_ABOVE, ACROSS_BELOW, [0.0, -1.0, 0.0, 3.0]),
}


@pytest.mark.parametrize("turn", [by_backward, by_forward], ids=["backward", "forward"])
@pytest.mark.parametrize("case", CASES)
def test_derivatives_are_those_of_the_power_series(case: str, turn: Any) -> None:
    name, start, slope, wanted = CASES[case]
    for transposed in (False, True):
        pair = [np.asarray(each).T.tolist() if transposed else each for each in (start, slope)]
        function = along(name, *pair)
        for expected in wanted:
            function = turn(function)
            found = float(function(dovetail.tensor(0.0, dtype=dovetail.float64)))
            assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_samples_of_a_batch_have_their_own_derivatives(case: str) -> None:
    name, start, slope, wanted = CASES[case]
    first, then = (dovetail.tensor(each, dtype=dovetail.float64) for each in (start, slope))
    order = name if name == "nuc" else float(name)
    starts = dovetail.stack([first, 2 * first])  # a norm of 2 A + t B is twice that of A + t/2 B
    second = grad(grad(lambda t, a: norm(a + t * then, order)))
    found = vmap(second, (None, 0))(dovetail.tensor(0.0, dtype=dovetail.float64), starts)
    assert found.tolist() == pytest.approx([wanted[1], wanted[1] / 2], abs=1e-9)
    together = grad(grad(lambda t: vmap(lambda a: norm(a + t * then, order))(starts).sum()))
    assert float(together(dovetail.tensor(0.0, dtype=dovetail.float64))) == pytest.approx(
        1.5 * wanted[1], abs=1e-9
    )


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
@pytest.mark.parametrize("name", ["nuc", "2", "-2"])
def test_derivatives_of_complex_matrices_are_those_of_a_fitted_polynomial(
    name: str, shape: tuple[int, int]
) -> None:
    rng = np.random.default_rng(5)
    start, slope = rng.normal(size=(2, *shape)) + 1j * rng.normal(size=(2, *shape))
    first, then = (dovetail.tensor(each) for each in (start, slope))
    order = name if name == "nuc" else float(name)
    function: Function = lambda t: norm(first + t * then, order)  # noqa: E731
    steps = np.arange(-8, 9) * 0.01
    values = [float(function(dovetail.tensor(float(step)).double())) for step in steps]
    series = np.polynomial.polynomial.polyfit(steps, values, 8)
    zero = dovetail.tensor(0.0, dtype=dovetail.float64)
    for order_of_derivative, factorial in ((1, 1), (2, 2), (3, 6)):
        function = grad(function)
        found = float(function(zero))
        assert found == pytest.approx(factorial * series[order_of_derivative], rel=1e-3, abs=1e-4)


def test_the_condition_number_has_second_derivatives_where_values_between_are_equal() -> None:
    start = dovetail.diag(dovetail.tensor([4.0, 2.0, 2.0, 1.0], dtype=dovetail.float64))
    # exp(t D) of a symmetric D with entries on the diagonal alone scales the values
    scale = dovetail.tensor([1.0, 0.0, 0.0, -1.0], dtype=dovetail.float64)
    function = grad(grad(lambda t: dovetail.linalg.cond(start * dovetail.exp(t * scale))))
    assert float(function(dovetail.tensor(0.0, dtype=dovetail.float64))) == pytest.approx(16.0)


EQUAL_VALUES = [[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 3.0]]
EQUAL_BELOW = [[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0]]
ZEROS = [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [3.0, 6.0, 9.0]]
WEIGHTS = dovetail.arange(9.0, dtype=dovetail.float64).reshape(3, 3)
REFUSED = {
    "values": (lambda x: dovetail.linalg.svdvals(x).square().sum(), 2, EQUAL_VALUES),
    "values of rank one": (lambda x: dovetail.linalg.svdvals(x).sum(), 2, ZEROS),
    "eigenvalues": (lambda x: dovetail.linalg.eigvalsh(x).square().sum(), 2, EQUAL_VALUES),
    "all eigenvalues": (lambda x: dovetail.linalg.eigvals(x).square().sum().real, 2, EQUAL_VALUES),
    "singular vectors": (lambda x: (dovetail.linalg.svd(x)[0] * WEIGHTS).sum(), 1, EQUAL_VALUES),
    "eigenvectors": (lambda x: (dovetail.linalg.eigh(x)[1] * WEIGHTS).sum(), 1, EQUAL_VALUES),
    "the greatest value": (lambda x: norm(x, 2), 2, EQUAL_VALUES),
    "the least value": (lambda x: norm(x, -2), 2, EQUAL_BELOW),
    "the edge of the nuclear norm": (lambda x: norm(x, "nuc"), 2, ZEROS),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_derivative_that_vectors_do_not_determine_is_refused(case: str) -> None:
    function, order, numbers = REFUSED[case]
    x = dovetail.tensor(numbers, dtype=dovetail.float64).requires_grad_()
    value = function(x)
    for _ in range(order - 1):
        (value,) = dovetail.autograd.grad(value, x, create_graph=True)
        value = (value * WEIGHTS).sum()
    with pytest.raises(RuntimeError, match="derivative"):
        value.backward()
    assert x.grad is None


def test_vectors_that_a_loss_leaves_out_may_belong_to_equal_values() -> None:
    x = dovetail.tensor(EQUAL_BELOW, dtype=dovetail.float64).requires_grad_()
    u, values, vh = dovetail.linalg.svd(x)
    weighted = values[0] * (u[:, :1] @ vh[:1])
    (weighted * WEIGHTS).sum().backward()
    assert x.grad is not None and bool(dovetail.isfinite(x.grad).all())


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 3, 3)])
@pytest.mark.parametrize("name", ["svd", "eigh", "eig"])
def test_matrices_without_vectors_have_empty_gradients(name: str, shape: tuple[int, ...]) -> None:
    x = dovetail.zeros(shape, dtype=dovetail.float64, requires_grad=True)
    vectors = getattr(dovetail.linalg, name)(x)[0 if name == "svd" else 1]
    vectors.abs().sum().backward()
    assert x.grad is not None and x.grad.shape == shape
