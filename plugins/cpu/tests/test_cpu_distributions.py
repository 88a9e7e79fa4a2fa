"""Distributions whose numbers are drawn one after another: their moments, where the generator is
left, and parameters at the edges.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dovetail_aten as aten
import dovetail_kernel as kernel
from dovetail_dispatcher import ops

pytestmark = pytest.mark.cpu_only(reason="the numbers are those of the cpu's generator")

COUNT = 4000
Draw = Callable[..., Any]


def full(number: float, count: int = COUNT) -> Any:
    return aten.full((count,), number, dtype=kernel.float64)


def poisson(rate: float) -> tuple[Draw, float, float]:
    return lambda n, g: aten.poisson(full(rate, n), generator=g), rate, rate


def binomial(count: float, chance: float) -> tuple[Draw, float, float]:
    def draw(n: int, g: Any) -> Any:
        return aten.binomial(full(count, n), full(chance, n), generator=g)

    return draw, count * chance, count * chance * (1 - chance)


def gamma(alpha: float) -> tuple[Draw, float, float]:
    return lambda n, g: ops.aten._standard_gamma(full(alpha, n), generator=g), alpha, alpha


def filled(name: str, *arguments: Any) -> Draw:
    return lambda n, g: getattr(full(0.0, n), name)(*arguments, generator=g)


DISTRIBUTIONS: dict[str, tuple[Draw, float, float]] = {
    "poisson by products": poisson(0.5),
    "poisson below ten": poisson(9.5),
    "poisson by rejection": poisson(12.0),
    "poisson of a great rate": poisson(5000.0),
    "binomial by gaps": binomial(20, 0.1),
    "binomial by rejection": binomial(100, 0.3),
    "binomial of many trials": binomial(5000, 0.4),
    "binomial above a half": binomial(30, 0.8),
    "gamma below one": gamma(0.4),
    "gamma above one": gamma(3.5),
    "exponential": (filled("exponential_", 2.0), 0.5, 0.25),
    "geometric": (filled("geometric_", 0.25), 4.0, 12.0),
    "normal": (filled("normal_", 3.0, 2.0), 3.0, 4.0),
    "uniform": (filled("uniform_", -1.0, 5.0), 2.0, 3.0),
    "bernoulli": (filled("bernoulli_", 0.3), 0.3, 0.21),
    "log_normal": (
        filled("log_normal_", 0.0, 0.25),
        math.exp(0.03125),
        (math.exp(0.0625) - 1) * math.exp(0.0625),
    ),
}
"""By name, what draws numbers, their mean and their variance."""


@pytest.mark.parametrize("bits", ["MT19937", "PCG64"])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_numbers_have_the_mean_and_the_variance_of_their_distribution(name: str, bits: str) -> None:
    draw, mean, variance = DISTRIBUTIONS[name]
    numbers = np.asarray(draw(COUNT, aten.Generator(bit_generator=bits).manual_seed(5)))
    assert abs(numbers.mean() - mean) < 5 * math.sqrt(variance / COUNT)
    assert abs(numbers.var() / variance - 1) < 0.35


@pytest.mark.parametrize("name", [each for each in DISTRIBUTIONS if each != "normal"])
def test_two_draws_go_on_where_one_would(name: str) -> None:
    draw = DISTRIBUTIONS[name][0]
    whole = draw(30, aten.Generator().manual_seed(9)).tolist()
    generator = aten.Generator().manual_seed(9)
    assert draw(7, generator).tolist() + draw(23, generator).tolist() == whole


@pytest.mark.parametrize("rate", [0.0, math.inf])
def test_poisson_at_the_edges(rate: float) -> None:
    assert aten.poisson(full(rate, 2)).tolist() == [rate, rate]


@pytest.mark.parametrize(
    ("count", "chance", "wanted"), [(0, 0.5, 0), (9, 0, 0), (9, 1, 9), (math.inf, 0.5, math.inf)]
)
def test_binomial_at_the_edges(count: float, chance: float, wanted: float) -> None:
    assert aten.binomial(full(count, 2), full(chance, 2)).tolist() == [wanted, wanted]


@pytest.mark.parametrize("dtype", (kernel.float16, kernel.bfloat16), ids=repr)
def test_counts_in_half_precision_are_those_of_single_precision_rounded(dtype: Any) -> None:
    rates = aten.full((50,), 700.0)
    found = aten.poisson(rates.to(dtype), generator=aten.Generator().manual_seed(2))
    single = aten.poisson(rates.to(dtype).float(), generator=aten.Generator().manual_seed(2))
    assert found.tolist() == single.to(dtype).tolist()


def test_gamma_of_nothing_is_the_least_normal_number() -> None:
    assert ops.aten._standard_gamma(full(0.0, 3)).tolist() == [np.finfo(np.float64).tiny] * 3


@pytest.mark.parametrize("seed", range(5))
def test_wide_normal_numbers_are_scaled_with_one_rounding(seed: int) -> None:
    mean, std = 0.1, 1.7
    plain = full(0.0, 40).normal_(generator=aten.Generator().manual_seed(seed)).tolist()
    scaled = full(0.0, 40).normal_(mean, std, generator=aten.Generator().manual_seed(seed))
    exact = [Fraction(each) * Fraction(std) + Fraction(mean) for each in plain]
    assert scaled.tolist() == [float(each) for each in exact]


@pytest.mark.parametrize("dtype", (kernel.float32, kernel.float64), ids=repr)
def test_uniform_numbers_between_bounds_are_scaled_with_one_rounding(dtype: Any) -> None:
    empty = aten.empty(40, dtype=dtype)
    plain = empty.clone().uniform_(generator=aten.Generator().manual_seed(1)).tolist()
    found = empty.clone().uniform_(-0.3, 2.4, generator=aten.Generator().manual_seed(1))
    kind = np.float32 if dtype is kernel.float32 else np.float64
    low, high = kind(-0.3), kind(2.4)
    exact = [Fraction(each) * Fraction(float(high - low)) + Fraction(float(low)) for each in plain]
    assert found.tolist() == [float(kind(float(each))) for each in exact]


@pytest.mark.parametrize("dtype", (kernel.complex64, kernel.complex128), ids=repr)
def test_complex_numbers_have_half_of_the_variance_in_each_part(dtype: Any) -> None:
    numbers = np.asarray(aten.randn(COUNT, dtype=dtype, generator=aten.Generator().manual_seed(2)))
    for part in (numbers.real, numbers.imag):
        assert abs(part.mean()) < 0.06
        assert abs(part.var() - 0.5) < 0.06
    assert abs(np.mean(numbers.real * numbers.imag)) < 0.06
    uniform = np.asarray(aten.rand(COUNT, dtype=dtype, generator=aten.Generator().manual_seed(2)))
    for part in (uniform.real, uniform.imag):
        assert 0 <= part.min() < 0.01 < 0.99 < part.max() < 1


def test_a_transposed_tensor_is_filled_in_the_order_of_its_memory() -> None:
    rows = aten.empty(3, 4).uniform_(generator=aten.Generator().manual_seed(4))
    turned = aten.empty(3, 4).t()
    turned.uniform_(generator=aten.Generator().manual_seed(4))
    assert turned.t().tolist() == rows.tolist()


def test_chances_of_each_element_are_those_of_its_numbers() -> None:
    for dtype in (kernel.float32, kernel.float64):
        chances = aten.tensor([0.0, 0.2, 0.7, 1.0], dtype=dtype).expand(COUNT, 4).contiguous()
        found = np.asarray(aten.bernoulli(chances, generator=aten.Generator().manual_seed(8)))
        np.testing.assert_allclose(found.mean(0), [0, 0.2, 0.7, 1], atol=0.04)


@pytest.mark.parametrize("repeated", [False, True])
def test_choices_follow_their_weights(repeated: bool) -> None:
    weights = aten.tensor([[1.0, 2.0, 0.0, 5.0], [0.0, 0.0, 3.0, 1.0]])
    rows = weights.repeat(COUNT // 2, 1)
    chosen = np.asarray(
        aten.multinomial(rows, 2, repeated, generator=aten.Generator().manual_seed(6))
    )
    for row in (0, 1):
        share = np.asarray(weights[row]) / float(weights[row].sum())
        found = np.bincount(chosen[row::2, 0], minlength=4) / (COUNT // 2)
        np.testing.assert_allclose(found, share, atol=0.05)
        assert repeated or (chosen[row::2, 0] != chosen[row::2, 1]).all()
    assert aten.multinomial(weights[:0], 2, repeated).shape == (0, 2)


@pytest.mark.parametrize("bits", ["MT19937", "PCG64"])
def test_slopes_of_rrelu_lie_between_the_bounds_where_elements_are_not_positive(bits: str) -> None:
    x = aten.tensor([-1.0, 0.0, 2.0] * 50)
    generator = aten.Generator(bit_generator=bits).manual_seed(3)
    found = ops.aten.rrelu(x, 0.2, 0.4, True, generator)
    rows = np.asarray(found).reshape(-1, 3)
    assert ((rows[:, 0] >= -0.4) & (rows[:, 0] < -0.2)).all()
    assert len({*rows[:, 0].tolist()}) > 40
    assert (rows[:, 1] == 0).all() and (rows[:, 2] == 2).all()


@pytest.mark.parametrize(
    ("dtype", "greatest"),
    [(kernel.int64, 2**63 - 1), (kernel.uint8, 255), (kernel.bool, 1), (kernel.float32, 2**24)],
    ids=repr,
)
def test_random_fills_a_dtype_up_to_its_greatest_whole_number(dtype: Any, greatest: int) -> None:
    x = aten.empty(COUNT, dtype=dtype).random_(generator=aten.Generator().manual_seed(1))
    numbers = x.to(kernel.float64)
    assert 0 <= numbers.min().item() <= greatest / 100
    assert 0.99 * greatest <= numbers.max().item() <= greatest
    ranged = aten.empty(COUNT, dtype=kernel.int64).random_(-3, 4)
    assert sorted({*ranged.tolist()}) == list(range(-3, 4))
    wide = aten.empty(COUNT, dtype=kernel.int64).random_(-(2**62), 2**62)
    assert wide.min().item() < -(2**61) and wide.max().item() > 2**61
