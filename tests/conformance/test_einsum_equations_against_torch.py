"""Equations of einsum: what is a subscript, and what an ellipsis."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import dovetail

torch = pytest.importorskip("torch")

SYMBOLS = ("i", "j", "I", "1", "α", ".", "...", "-", ">", "->", "_", " ", "\t")
SHORT = ["".join(each) for n in range(1, 5) for each in itertools.product(SYMBOLS, repeat=n)]
EQUATIONS = (
    *SHORT[::11],
    *("i1->i", "i->i5", "...i...->i", "......i->i", "ij->....", "ij->.", "ij->i..."),
)


def outcome(lib: Any, equation: str) -> tuple[int, ...] | None:
    """Return the shape of the result; None for an error, which is a RuntimeError."""
    try:
        return tuple(lib.einsum(equation, lib.ones(3, 3)).shape)
    except RuntimeError:
        return None


def test_the_same_equations_are_taken_and_refused() -> None:
    differ = [
        (each, outcome(torch, each), outcome(dovetail, each))
        for each in EQUATIONS
        if outcome(torch, each) != outcome(dovetail, each)
    ]
    assert not differ
