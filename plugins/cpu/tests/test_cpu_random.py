"""Random numbers: what a seed promises, and the distributions."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail_aten as aten
import dovetail_kernel as kernel

DRAWS = {
    "rand": lambda **options: aten.rand(1000, **options),
    "randn": lambda **options: aten.randn(1000, **options),
    "randint": lambda **options: aten.randint(0, 100, (1000,), **options),
    "randperm": lambda **options: aten.randperm(1000, **options),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_equal_seeds_give_equal_numbers(draw):
    aten.manual_seed(3)
    first = draw()
    aten.manual_seed(3)
    assert draw().tolist() == first.tolist()


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_the_next_numbers_are_others(draw):
    aten.manual_seed(3)
    assert draw().tolist() != draw().tolist()


@pytest.mark.cpu_only(reason="a generator is one of the cpu")
def test_a_generator_does_not_depend_on_the_default_one():
    aten.manual_seed(1)
    first = aten.rand(5, generator=aten.Generator().manual_seed(7)).tolist()
    aten.manual_seed(2)
    assert aten.rand(5, generator=aten.Generator().manual_seed(7)).tolist() == first


@pytest.mark.parametrize(
    "dtype", (kernel.float32, kernel.float64, kernel.float16, kernel.bfloat16), ids=repr
)
def test_uniform_numbers_lie_in_the_half_open_unit_interval(dtype):
    aten.manual_seed(0)
    numbers = aten.rand(20_000, dtype=dtype).to(kernel.float64)
    assert 0 <= numbers.min().item() < 0.01
    assert 0.99 < numbers.max().item() < 1
    assert abs(numbers.mean().item() - 0.5) < 0.01


@pytest.mark.parametrize(
    "dtype", (kernel.float32, kernel.float64, kernel.float16, kernel.bfloat16), ids=repr
)
def test_normal_numbers_have_mean_0_and_deviation_1(dtype):
    aten.manual_seed(0)
    numbers = np.asarray(aten.randn(20_000, dtype=dtype).double().cpu())
    assert abs(numbers.mean()) < 0.03
    assert abs(numbers.std() - 1) < 0.03


def test_integers_cover_their_range():
    aten.manual_seed(0)
    numbers = aten.randint(-2, 3, (1000,))
    assert numbers.dtype is kernel.int64
    assert sorted(set(numbers.tolist())) == [-2, -1, 0, 1, 2]


def test_a_permutation_has_every_number_once():
    assert sorted(aten.randperm(50).tolist()) == list(range(50))


@pytest.mark.parametrize("shape", ((), (0,), (2, 0, 3)))
def test_a_0d_or_empty_draw_has_its_shape(shape):
    assert tuple(aten.rand(shape).shape) == shape
    assert tuple(aten.randn(shape).shape) == shape
