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
