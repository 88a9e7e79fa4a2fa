"""Gradients at the boundary of a domain, computed by hand: the rows of docs/differences.md."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

import dovetail

MEANS = [0.3, 0.4, 1.1]
COUNTS = [0.0, 1.0, 3.0]


def of_counts(lib: Any, order: int) -> list[float]:
    """Return a derivative of `poisson_nll_loss` with Stirling's terms by its counts."""
    means = lib.tensor(MEANS, dtype=lib.float64)

    def loss(counts: Any) -> Any:
        return lib.nn.functional.poisson_nll_loss(
            means, counts, log_input=False, full=True, eps=0.0, reduction="sum"
        )

    function = loss
    for _ in range(order - 1):
        function = lambda x, f=function: lib.func.grad(f)(x).sum()  # noqa: E731
    found: list[float] = lib.func.grad(function)(lib.tensor(COUNTS, dtype=lib.float64)).tolist()
    return found


def test_counts_of_zero_have_the_derivative_of_what_is_computed_for_them() -> None:
    first = [-math.log(MEANS[0]), -math.log(MEANS[1]), -math.log(MEANS[2])]
    first[2] += math.log(3.0) + 1 / 6
    assert of_counts(dovetail, 1) == pytest.approx(first)
    assert of_counts(dovetail, 2) == pytest.approx([0.0, 0.0, 1 / 3 - 1 / 18])
    for order in (1, 2):
        theirs = of_counts(torch, order)
        assert math.isnan(theirs[0])
        assert theirs[1:] == pytest.approx(of_counts(dovetail, order)[1:])


@pytest.mark.parametrize("as_tensor", [False, True])
@pytest.mark.parametrize(("name", "boundary"), [("xlogy", 0.0), ("xlog1py", -1.0)])
def test_a_product_that_is_zero_for_every_logarithm_has_no_slope(
    name: str, boundary: float, as_tensor: bool
) -> None:
    def slopes(lib: Any) -> list[float]:
        factor = lib.zeros(2, dtype=lib.float64) if as_tensor else 0.0
        at = lib.tensor([boundary, 2.0], dtype=lib.float64)
        call = getattr(lib.special, name)
        return list(lib.func.grad(lambda y: call(factor, y).sum())(at).tolist())

    assert slopes(dovetail) == [0.0, 0.0]
    assert math.isnan(slopes(torch)[0])


@pytest.mark.parametrize(("name", "sign"), [("gammainc", 1.0), ("gammaincc", -1.0)])
def test_the_incomplete_gamma_function_of_1_has_the_slope_of_an_exponential(
    name: str, sign: float
) -> None:
    def slope(lib: Any, order: int) -> float:
        one = lib.ones((), dtype=lib.float64)
        function = lambda x: getattr(lib.special, name)(one, x)  # noqa: E731
        for _ in range(order):
            function = lib.func.grad(function)
        return float(function(lib.zeros((), dtype=lib.float64)))

    assert (slope(dovetail, 1), slope(dovetail, 2)) == (sign, -sign)
    assert math.isnan(slope(torch, 1))


def test_what_is_broadcast_to_no_elements_has_no_slope() -> None:
    def slope(lib: Any) -> float:
        none = lib.ones(0, 1, dtype=lib.float64)
        first = lib.func.grad(lambda x: lib.igamma(none, x).sum())
        second = lib.func.grad(lambda x: first(x).sum())
        return float(second(lib.zeros(1, dtype=lib.float64)))

    assert slope(dovetail) == 0.0
    assert math.isnan(slope(torch))


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["amax", "amin"])
@pytest.mark.parametrize("call", ["scatter_reduce", "index_reduce"])
@pytest.mark.filterwarnings("ignore:index_reduce:UserWarning")
def test_the_extreme_of_elements_with_a_nan_has_no_slope_that_hides_it(
    call: str, reduce: str, include_self: bool
) -> None:
    def gradients(lib: Any) -> list[str]:
        x = lib.zeros(3, requires_grad=True)
        source = lib.tensor([math.nan, 1.0, 2.0, 2.0], requires_grad=True)
        made = getattr(x, call)(
            0, lib.tensor([0, 0, 1, 1]), source, reduce, include_self=include_self
        )
        made.sum().backward()
        return [str(x.grad.tolist()), str(source.grad.tolist())]

    assert gradients(dovetail) == gradients(torch)
