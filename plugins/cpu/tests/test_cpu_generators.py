"""Generators of the cpu: what makes their bits is chosen by name, and goes with their state."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import dovetail_aten as aten

pytestmark = pytest.mark.cpu_only(reason="the generators are those of the cpu")

NAMES = ("MT19937", "PCG64", "PCG64DXSM", "SFC64", "Philox")

DRAWS = {
    "uniform": lambda g: aten.rand(20, generator=g),
    "normal": lambda g: aten.randn(20, generator=g),
    "below 100": lambda g: aten.randint(0, 100, (20,), generator=g),
    "a permutation": lambda g: aten.randperm(20, generator=g),
    "chances": lambda g: aten.empty(20).bernoulli_(0.5, generator=g),
    "times": lambda g: aten.empty(20).exponential_(generator=g),
    "counts": lambda g: aten.poisson(aten.full((20,), 3.0), generator=g),
    "choices": lambda g: aten.multinomial(aten.ones(30), 20, generator=g),
    "repeated choices": lambda g: aten.multinomial(aten.ones(30), 20, True, generator=g),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_a_state_brings_the_same_numbers_again(name, draw):
    generator = aten.Generator(bit_generator=name).manual_seed(3)
    aten.randn(3, generator=generator)
    twins = [
        aten.Generator(bit_generator=name).set_state(generator.get_state()),
        generator.clone_state(),
        pickle.loads(pickle.dumps(generator)),
    ]
    wanted = draw(generator).tolist()
    for twin in twins:
        assert twin.bit_generator == name
        assert twin.initial_seed() == 3
        assert draw(twin).tolist() == wanted


def test_the_numbers_of_pcg64_are_those_of_numpy():
    generator = aten.Generator(bit_generator="PCG64").manual_seed(3)
    wanted = np.random.Generator(np.random.PCG64(3)).random(5, dtype=np.float32)
    assert np.array_equal(aten.rand(5, generator=generator).numpy(), wanted)


def test_the_default_generator_may_have_other_bits():
    default = aten.default_generator()
    assert default.bit_generator == "MT19937"
    try:
        default.bit_generator = "SFC64"
        aten.manual_seed(1)
        first = aten.rand(3).tolist()
        aten.manual_seed(1)
        assert aten.rand(3).tolist() == first
    finally:
        default.bit_generator = "MT19937"
    aten.manual_seed(0)
    assert aten.rand(3).tolist() == pytest.approx([0.4963, 0.7682, 0.0885], abs=1e-4)


def test_unknown_bits_are_refused_with_the_names_of_the_known():
    with pytest.raises(ValueError, match=r"no bit generator 'RC4'. Use one of MT19937, PCG64"):
        aten.Generator(bit_generator="RC4")


def test_a_state_of_other_bits_is_refused():
    state = aten.Generator(bit_generator="PCG64").get_state()
    with pytest.raises(RuntimeError, match="Expected a generator state of size 5056"):
        aten.Generator().set_state(state)


def test_a_copied_source_draws_on_its_own():
    source = aten.Generator().manual_seed(5).native
    twin = copy.deepcopy(source)
    assert source.bits.random_raw(3).tolist() == twin.bits.random_raw(3).tolist()


@pytest.mark.parametrize("count", [1, 64, 312, 600, 623, 624, 625, 1871, 1872, 1873, 4368, 5000])
def test_numbers_take_as_many_words_one_by_one_as_at_once(count):
    ours, whole = aten.Generator().manual_seed(7), aten.Generator().manual_seed(7)
    assert aten.equal(ours.get_state(), whole.get_state())
    one_by_one = [aten.rand(1, generator=ours).item() for _ in range(count)]
    assert aten.rand(count, generator=whole).tolist() == one_by_one
    assert aten.equal(ours.get_state(), whole.get_state())


def test_poisson_numbers_of_an_infinite_rate_are_infinite():
    drawn = aten.poisson(aten.full((4,), float("inf")))
    assert drawn.tolist() == [float("inf")] * 4
