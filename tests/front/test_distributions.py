"""Random numbers have the moments of their distributions, and come again with their seed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import dovetail

COUNT = 20_000


def filled(name: str, *args: Any, dtype: Any = None) -> Callable[[], Any]:
    """Return what writes numbers of a distribution into a new tensor."""
    return lambda: getattr(dovetail.empty(COUNT, dtype=dtype or dovetail.float64), name)(*args)


def many(value: float) -> Any:
    return dovetail.full((COUNT,), value, dtype=dovetail.float64)


MOMENTS: dict[str, tuple[Callable[[], Any], float, float]] = {
    "exponential": (filled("exponential_", 2.0), 0.5, 0.25),
    "geometric": (filled("geometric_", 0.25), 4.0, 12.0),
    "geometric of integers": (filled("geometric_", 0.5, dtype=dovetail.int32), 2.0, 2.0),
    "log_normal": (
        filled("log_normal_", 0.0, 0.5),
        math.exp(0.125),
        (math.exp(0.25) - 1) * math.exp(0.25),
    ),
    "uniform": (filled("uniform_", 1.0, 3.0), 2.0, 1 / 3),
    "random below": (filled("random_", 10), 4.5, 8.25),
    "random between": (filled("random_", -5, 5, dtype=dovetail.int64), -0.5, 8.25),
    "random bytes": (filled("random_", dtype=dovetail.int8), 63.5, (128**2 - 1) / 12),
    "bernoulli by tensor": (lambda: dovetail.empty(COUNT).bernoulli_(many(0.3)), 0.3, 0.21),
    "bernoulli by number": (lambda: dovetail.bernoulli(many(0.0), 0.3), 0.3, 0.21),
    "normal around": (lambda: dovetail.normal(many(3.0), 2.0), 3.0, 4.0),
    "normal as wide": (lambda: dovetail.normal(3.0, many(2.0)), 3.0, 4.0),
    "normal of both": (lambda: dovetail.normal(many(3.0), many(2.0)), 3.0, 4.0),
    "normal of a size": (lambda: dovetail.normal(3.0, 2.0, (COUNT,)), 3.0, 4.0),
    "poisson of little": (lambda: dovetail.poisson(many(0.3)), 0.3, 0.3),
    "poisson of much": (lambda: dovetail.poisson(many(200.0)), 200.0, 200.0),
    "binomial of few": (lambda: dovetail.binomial(many(10.0), many(0.3)), 3.0, 2.1),
    "binomial of many": (lambda: dovetail.binomial(many(1e5), many(0.5)), 5e4, 2.5e4),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_the_mean_and_the_variance_are_those_of_the_distribution(name: str) -> None:
    """To within six standard errors, for one seed: the fourth moments are at most 9."""
    draw, mean, variance = MOMENTS[name]
    dovetail.manual_seed(1)
    sample = draw().to(dovetail.float64)
    error = math.sqrt(variance / COUNT)
    assert abs(sample.mean().item() - mean) < 6 * error
    assert abs(sample.var().item() / variance - 1) < 6 * math.sqrt(9 / COUNT) + 0.05


def test_half_of_the_cauchy_numbers_lie_within_its_width() -> None:
    dovetail.manual_seed(1)
    sample = filled("cauchy_", 2.0, 3.0)()
    near = ((sample - 2).abs() < 3).to(dovetail.float64).mean().item()
    assert abs(near - 0.5) < 6 * math.sqrt(0.25 / COUNT)
    assert abs(sample.median().item() - 2) < 0.2


@pytest.mark.parametrize("name", MOMENTS)
def test_the_same_seed_gives_the_same_numbers(name: str) -> None:
    draw = MOMENTS[name][0]
    dovetail.manual_seed(7)
    first = draw()
    second = draw()
    dovetail.manual_seed(7)
    assert dovetail.equal(draw(), first)
    assert not dovetail.equal(first, second)


@pytest.mark.cpu_only(reason="a generator is one of the cpu")
def test_a_generator_of_its_own_draws_the_numbers() -> None:
    one, other = [dovetail.Generator().manual_seed(3) for _ in range(2)]
    first = dovetail.normal(0.0, 1.0, (5,), generator=one)
    assert dovetail.equal(first, dovetail.normal(dovetail.zeros(5), 1.0, generator=other))
    rates = dovetail.full((5,), 4.0)
    assert dovetail.equal(dovetail.poisson(rates, one), dovetail.poisson(rates, other))


def test_what_is_certain_is_not_drawn() -> None:
    count = dovetail.tensor([0.0, 5.0, 5.0, -2.0])
    prob = dovetail.tensor([0.5, 0.0, 1.0, 0.5])
    assert dovetail.binomial(count, prob).tolist() == [0, 0, 5, 0]
    assert dovetail.poisson(dovetail.zeros(3)).tolist() == [0, 0, 0]


def test_normal_is_a_factory_where_it_is_given_numbers() -> None:
    made = dovetail.normal(0, 1, (2, 3), dtype=dovetail.float64, requires_grad=True)
    assert made.shape == (2, 3)
    assert made.dtype is dovetail.float64
    assert made.requires_grad
    target = dovetail.empty(2, 3)
    assert dovetail.normal(0.0, 1.0, (2, 3), out=target) is target
    with pytest.raises(TypeError, match="and there is no size"):
        dovetail.normal(0.0, 1.0)


def test_random_numbers_fill_the_range_of_their_dtype() -> None:
    dovetail.manual_seed(1)
    assert set(dovetail.empty(100, dtype=dovetail.bool).random_().tolist()) == {False, True}
    numbers = dovetail.empty(2000, dtype=dovetail.uint8).random_()
    assert (numbers.min().item(), numbers.max().item()) == (0, 255)
    assert dovetail.empty(100, dtype=dovetail.float32).random_().max().item() <= 1 << 24
    with pytest.raises(RuntimeError, match="out of bounds"):
        dovetail.empty(2, dtype=dovetail.uint8).random_(0, 300)
