"""Numbers that are made of words drawn ahead are those of the words one after another, whatever is
drawn in between, and wherever the state is read, set or copied.
"""

from __future__ import annotations

import copy
import random
from typing import Any

import numpy as np
import pytest

from dovetail_cpu import drawn_numbers as drawn
from dovetail_cpu.mersenne_twister import MersenneTwister

SEED = 7
COUNTS = (1, 2, 3, 8, 16, 17, 32, 64, 64, 64, 128, 312, 313, 623, 624, 625, 1000, 9000)
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
DRAWS = {
    "single": lambda source, n: drawn.uniform(source, n, SINGLE),
    "double": lambda source, n: drawn.uniform(source, n, DOUBLE),
    "bounded": lambda source, n: drawn.uniform(source, n, SINGLE, -1.0, 2.0),
    "normal": lambda source, n: drawn.normal(source, n, SINGLE),
    "shifted": lambda source, n: drawn.normal(source, n, SINGLE, 2.0, 3.0),
    "double normal": lambda source, n: drawn.normal(source, n, DOUBLE),
    "integers": lambda source, n: drawn.integers(source, n, -3, 10),
    "long integers": lambda source, n: drawn.integers(source, n, 0, 1 << 40),
    "permutation": drawn.permutation,
    "words": lambda source, n: source.raw(n),
    "pairs": lambda source, n: source.pairs(n),
}


class OneByOne:
    """A source that takes words from a long line of them."""

    def __init__(self, words: Any) -> None:
        self.line, self.at = words, 0
        self.kept: float | None = None

    def ahead(self, count: int) -> None:
        return None

    def raw(self, count: int) -> Any:
        self.at += count
        return self.line[self.at - count : self.at].copy()

    words = raw

    def pairs(self, count: int) -> Any:
        words = self.raw(2 * count).astype(np.uint64)
        return words[::2] << np.uint64(32) | words[1::2]

    def doubles(self, count: int) -> Any:
        return (self.pairs(count) & np.uint64((1 << 53) - 1)) * 2.0**-53


@pytest.fixture(scope="module")
def line() -> Any:
    return MersenneTwister(SEED)._words.integers(0, 1 << 32, 2_000_000, dtype=np.uint32)


@pytest.mark.parametrize("trial", range(12))
def test_numbers_are_those_of_words_one_after_another(trial: int, line: Any) -> None:
    choice = random.Random(trial)
    ours, plain = MersenneTwister(SEED), OneByOne(line)
    for _ in range(100):
        name, count = choice.choice(list(DRAWS)), choice.choice(COUNTS)
        made, expected = (DRAWS[name](source, count) for source in (ours, plain))
        assert made.dtype == expected.dtype or name in ("words", "pairs")
        assert np.array_equal(made, expected), (name, count)
        made[...] = 0  # it is the caller's own
        what = choice.choice(["go on"] * 6 + ["state", "position", "skip", "copy"])
        if what == "state":
            state = ours.state(SEED)
            ours, seed = MersenneTwister.of_state(state)
            assert seed == SEED
            assert ours.state(SEED) == state
        elif what == "position":
            position = ours.position()
            for _ in range(3):
                ours.raw(choice.choice(COUNTS))
                ours.doubles(choice.choice(COUNTS))
            ours.go_to(position)
        elif what == "skip":
            count = choice.choice((0, *COUNTS))
            ours.skip(count)
            plain.raw(count)
        elif what == "copy":
            ours = copy.deepcopy(ours)


@pytest.mark.parametrize("count", [1, 64, 312, 600, 623, 624, 625, 1871, 1872, 1873, 4368, 5000])
def test_the_state_is_that_of_pytorch_after_so_many_words(count: int) -> None:
    ours, whole = MersenneTwister(SEED), MersenneTwister(SEED)
    assert ours.state(SEED) == whole.state(SEED)
    for _ in range(count):
        drawn.uniform(ours, 1, SINGLE)
    whole._bits.random_raw(count, output=False)
    assert ours.state(SEED) == whole.state(SEED)
