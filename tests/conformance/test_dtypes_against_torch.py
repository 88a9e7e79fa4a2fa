"""Numbers and dtypes: what a dtype can hold, conversion between them, and promotion, as in
PyTorch.
"""

from __future__ import annotations

import pytest
from same_programs import Programs, assert_same

PROGRAMS = Programs(
    {
        "an imaginary number is true": lambda lib: lib.tensor([1j, 0, -1, 2 - 1j]).to(lib.bool),
        "an imaginary number is true when it is copied": lambda lib: lib.zeros(
            2, dtype=lib.bool
        ).copy_(lib.tensor([1j, 0])),
        "copying into integers requires no grad": lambda lib: lib.tensor(
            lib.zeros(2, dtype=lib.int64).copy_(lib.ones(2, requires_grad=True)).requires_grad
        ),
        "a view of clipped fractions": lambda lib: lib.zeros(2, dtype=lib.int32).masked_fill(
            lib.tensor([True, False]), 2.7
        ),
        "300 in a byte": lambda lib: lib.zeros(2, dtype=lib.uint8).fill_(300),
        "a fraction below zero in a byte": lambda lib: lib.zeros(2, dtype=lib.uint8).masked_fill(
            lib.tensor([True, False]), -0.5
        ),
        "infinity among integers": lambda lib: lib.zeros(2, dtype=lib.int64).scatter(
            0, lib.tensor([0]), float("inf")
        ),
        "an integer tensor and a float number": lambda lib: lib.arange(2) < 0.5,
        "a number without dimensions does not widen": lambda lib: (
            lib.ones(2) + lib.tensor(1.0, dtype=lib.float64)
        ),
        "a number of a higher kind does": lambda lib: lib.arange(2) + lib.tensor(0.5),
        "a comparison with a number without dimensions": lambda lib: (
            lib.tensor([0.1]) == lib.tensor(0.1, dtype=lib.float64)
        ),
    }
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_gives_the_same_in_torch(name: str) -> None:
    assert_same(PROGRAMS[name], words=0, close=True)
