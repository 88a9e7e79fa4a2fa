"""Gradients where an index is there twice: the rows of docs/differences.md, each tried on both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import dovetail
import dovetail.func


@pytest.mark.parametrize("in_place", [False, True])
def test_what_index_copy_overwrites_has_no_gradient(in_place: bool) -> None:
    def gradient(lib: Any) -> Any:
        x, source = lib.ones(2, 3), lib.ones(2, 2, requires_grad=True)
        call = (x * 1).index_copy_ if in_place else x.index_copy
        made = call(1, lib.tensor([2, 2]), source)
        (made * lib.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).sum().backward()
        return source.grad.tolist()

    # x[:, 2] = source[:, 0], then x[:, 2] = source[:, 1]
    assert gradient(dovetail) == [[0.0, 3.0], [0.0, 6.0]]
    assert gradient(torch) == [[3.0, 3.0], [6.0, 6.0]]


def test_the_tangent_and_the_gradient_of_index_copy_agree() -> None:
    x = dovetail.tensor([[1.0, 2.0, 3.0]], dtype=dovetail.float64)
    source = dovetail.tensor([[0.5, 0.25, 4.0]], dtype=dovetail.float64)
    index = dovetail.tensor([1, 0, 1])

    def function(source: Any) -> Any:
        return x.index_copy(1, index, source).sin()

    forward = dovetail.func.jacfwd(function)(source)
    assert dovetail.equal(forward, dovetail.func.jacrev(function)(source))


def test_frequencies_of_an_embedding_are_those_of_a_sample() -> None:
    def gradient(lib: Any) -> Any:
        weight, rows = lib.ones(3, 1), lib.tensor([[0, 0, 1], [0, 1, 2]])

        def total(weight: Any) -> Any:
            def pick(index: Any) -> Any:
                return lib.nn.functional.embedding(index, weight, scale_grad_by_freq=True)

            return lib.func.vmap(pick)(rows).sum()

        return lib.func.grad(total)(weight).flatten().tolist()

    # Row 0 is picked twice by the first sample, whose gradient is divided by 2, and once by the
    # second: 2 / 2 + 1; row 1 is picked once by each.
    assert gradient(dovetail) == [2.0, 2.0, 1.0]
    assert gradient(torch) == [1.0, 1.0, 1.0]


def test_the_total_weight_that_nll_loss_was_given_counts_in_its_second_derivative() -> None:
    def gradient(lib: Any) -> Any:
        grad = lib.ones((), requires_grad=True)
        made = lib.ops.aten.nll_loss_backward(
            grad, lib.zeros(2, 3), lib.tensor([0, 2]), None, 1, -100, lib.tensor(4.0)
        )
        made.sum().backward()
        return grad.grad.item()

    assert gradient(dovetail) == -0.5  # two slopes of -1 / 4
    assert gradient(torch) == -1.0  # those of a total weight of 2


def test_bools_are_added_at_indices_of_a_sample() -> None:
    def added(lib: Any) -> Any:
        x, source = lib.zeros(2, 3, dtype=lib.bool), lib.tensor([True, False])
        index = lib.tensor([[0, 1], [2, 1]])
        return lib.func.vmap(lambda x, i: x.index_add(0, i, source, alpha=2))(x, index)

    expected = [[True, False, False], [False, False, True]]
    np.testing.assert_array_equal(added(dovetail).tolist(), expected)
