"""Compiled draws from a Mersenne Twister against their reference: the same bits, the same state
afterwards, and what is not drawn leaves the state alone.
"""

from __future__ import annotations

import copy
import random
import threading
from typing import Any

import numpy as np
import pytest

pytest.importorskip("dovetail_native._core", reason="built without a C compiler")

from dovetail_cpu.random.mersenne_twister import MersenneTwister
from dovetail_cpu.random.plain_draws import Draws, compiled_draws
from dovetail_cpu.random.rejection_sampling import Rejections, compiled_rejections
from dovetail_native import _core

SIZES = ((), (0,), (1,), (2,), (15,), (2, 8), (17,), (3, 0), (4, 5, 6), (623,), (1024,), (1025,))
LARGE = ((2047,), (40, 41), (20_000,))
MEANS = ((0.0, 1.0), (2.0, 3.0), (0.0, 0.1), (1.0, 1.0), (-5, 0))
BOUNDS = ((0.0, 1.0), (-1.0, 2.0), (2.0**20, 2.0**20 + 1), (3.0, 3.0), (0, 2))
WIDTHS = (1, 2, 3, 10, 2**16, 2**24 + 1, 2**28 - 1, 2**31 + 1, 2**32 - 1)
LONG = (2**28, 2**32, 2**32 + 1, 10**15 + 7, 2**63 - 1, 2**63, 2**64 - 1, 2**64)


def count(size: tuple[int, ...]) -> int:
    return int(np.prod(size, dtype=int))


def arguments(name: str, choice: random.Random) -> tuple[Any, ...]:
    """Return arguments of a draw, without the generator."""
    sizes = SIZES if choice.random() < 0.9 else LARGE
    size, flag = choice.choice(sizes), choice.random() < 0.5
    if name == "uniform":
        return size, flag, *choice.choice(BOUNDS)
    if name == "chosen":
        return size, choice.choice((0.0, 1.0, 0.3, 1, 0.9999))
    if name == "normal":
        kept, blocks = choice.choice((None, 0.25, -3.0)), choice.choice((0, 1, 2))
        return size, flag, *choice.choice(MEANS), kept, blocks
    if name == "exponential":
        return size, flag, choice.choice((1.0, 0.3, 5))
    if name == "integers":
        width = choice.choice(LONG if flag else WIDTHS)
        return size, choice.choice((0, 7, -3, -(2**62))) if width < 2**62 else 0, width, flag
    return (count(size),), flag


@pytest.mark.parametrize("trial", range(20))
def test_draws_are_those_of_the_reference(trial):
    choice, plain, compiled = random.Random(trial), Draws(), compiled_draws()
    one, other = np.random.MT19937(trial), np.random.MT19937(trial)
    for _ in range(60):
        name = choice.choice(Draws._fields)
        given = arguments(name, choice)
        expected, found = getattr(plain, name)(one, *given), getattr(compiled, name)(other, *given)
        if name == "normal":
            assert expected[1] == found[1], given
            expected, found = expected[0], found[0]
        assert (expected.dtype, expected.shape) == (found.dtype, found.shape), (name, given)
        assert np.array_equal(expected, found), (name, given)
        assert one.state["state"]["pos"] == other.state["state"]["pos"], (name, given)
        assert np.array_equal(one.state["state"]["key"], other.state["state"]["key"])
        if choice.random() < 0.1:
            other = copy.deepcopy(other)
        words = choice.choice((0, 1, 624))
        assert np.array_equal(one.random_raw(words), other.random_raw(words))


@pytest.mark.parametrize("name", Draws._fields)
def test_the_layout_of_numpys_state_is_known(name):
    """Where it is not, all draws are the reference's: a release of NumPy that changes it fails
    here.
    """
    draw, calls = getattr(Draws(), name), []

    def reference(*given):
        calls.append(given)
        return draw(*given)

    compiled = _core.CompiledKernel(f"random.{name}", reference)
    compiled(np.random.MT19937(1), *arguments(name, random.Random(5)))
    assert not calls


@pytest.mark.parametrize("name", Draws._fields)
def test_what_is_not_drawn_is_left_to_the_reference_and_draws_nothing(name):
    compiled = _core.CompiledKernel(f"random.{name}", lambda *given: "the reference")
    bits = np.random.MT19937(1)
    before = bits.state["state"]
    size, *rest = arguments(name, random.Random(3))
    for wrong in ((-1,), (1.5,), 3, None, [2], (2**70,), (1,) * 100):
        assert compiled(bits, wrong, *rest) == "the reference"
    for generator in (None, np.random.PCG64(1), np.random.default_rng(1), object()):
        assert compiled(generator, size, *rest) == "the reference"
    for i in range(len(rest)):
        if name != "normal" or i < 3:
            given = [*rest[:i], "wrong", *rest[i + 1 :]]
            assert compiled(bits, size, *given) == "the reference"
    assert compiled(bits, size) == "the reference"
    assert compiled(bits, size, *rest, 1) == "the reference"
    after = bits.state["state"]
    assert (before["pos"], before["key"].tolist()) == (after["pos"], after["key"].tolist())


def test_too_many_numbers_are_an_error_that_draws_nothing():
    bits = np.random.MT19937(1)
    before = bits.state["state"]["pos"]
    for draws in (compiled_draws(), Draws()):
        for size in ((2**60,), (-1,), (3, -2)):
            with pytest.raises(RuntimeError, match=r"overflow|negative"):
                draws.uniform(bits, size, True, 0.0, 1.0)
    assert bits.state["state"]["pos"] == before


def test_threads_draw_numbers_one_call_after_another():
    """Large draws release the lock of the interpreter, never that of the generator."""
    from dovetail_cpu.random import drawn_numbers

    source, made = MersenneTwister(5), []
    size, each = 30_000, 20

    def work():
        for _ in range(each):
            made.append(drawn_numbers.uniform(source, (size,), np.dtype(np.float64)))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    line = drawn_numbers.uniform(MersenneTwister(5), (3 * each, size), np.dtype(np.float64))
    assert {row.tobytes() for row in made} == {row.tobytes() for row in line}


@pytest.mark.parametrize("trial", range(12))
def test_rejections_are_those_of_the_reference(trial):
    random_numbers = np.random.default_rng(trial)
    one, other = np.random.MT19937(trial), np.random.MT19937(trial)
    x = random_numbers.uniform(0, (3, 30, 3000)[trial % 3], (40, 50))
    x.flat[:5] = 0, np.inf, np.nan, 0.5, 1e9
    chances = random_numbers.uniform(0, 1, x.shape)
    chances.flat[-3:] = 0, 1, np.nan
    kept = (None, 0.3)[trial % 2]
    for name, *given in (("poisson", x), ("binomial", np.floor(x), chances), ("gamma", x, kept)):
        for size in ((40, 50), (50,), (), (0,)):
            some = [np.resize(g, size) if isinstance(g, np.ndarray) else g for g in given]
            expected = getattr(Rejections(), name)(one, size, *some)
            found = getattr(compiled_rejections(), name)(other, size, *some)
            if name == "gamma":
                assert expected[1] == found[1]
                expected, found = expected[0], found[0]
            assert (expected.dtype, expected.shape) == (found.dtype, found.shape)
            np.testing.assert_array_equal(expected, found)
            assert one.state["state"]["pos"] == other.state["state"]["pos"]
            assert np.array_equal(one.state["state"]["key"], other.state["state"]["key"])


@pytest.mark.parametrize("name", Rejections._fields)
def test_rejections_of_other_arguments_are_left_to_the_reference(name):
    left, x = object(), np.ones(3)
    compiled = _core.CompiledKernel(f"random.{name}", lambda *_: left)
    rest = {"poisson": (), "binomial": (np.ones(3),), "gamma": (None,)}[name]
    bits = np.random.MT19937(1)
    assert compiled(bits, (3,), x, *rest) is not left
    before = bits.state
    for given in ((bits, (4,), x), (bits, (3,), x.astype("f4")), (np.random.PCG64(1), (3,), x)):
        assert compiled(*given, *rest) is left
    assert np.array_equal(before["state"]["key"], bits.state["state"]["key"])
    assert before["state"]["pos"] == bits.state["state"]["pos"]
