"""Gradients where an index is there twice: the rows of docs/differences.md, each tried on both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import dovetail
import dovetail.func
import dovetail.testing


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


def written_at(lib: Any, call: str, x: Any, source: Any) -> Any:
    """Return the result of a write of three elements to two places: the first is lost."""
    index = lib.tensor([2, 0, 2])
    if call == "scatter":
        return x.scatter(0, index, source)
    if call == "put":
        return x.put(index, source)
    if call == "index_put":
        return x.index_put((index,), source)
    made = x + 0 * source  # mapped where the source is
    if call == "scatter_":
        return made.scatter_(0, index, source)
    if call == "index_copy":
        return made.index_copy(0, index, source)
    made[index] = source
    return made


WRITES = ("scatter", "scatter_", "put", "index_put", "index_copy", "x[index] = source")


@pytest.mark.parametrize("call", WRITES)
def test_what_a_later_write_replaces_has_no_gradient(call: str) -> None:
    def gradients(lib: Any) -> Any:
        x = lib.ones(3, requires_grad=True)
        source = lib.ones(3, requires_grad=True)
        (written_at(lib, call, x, source) * lib.tensor([1.0, 2.0, 3.0])).sum().backward()
        return x.grad.tolist(), source.grad.tolist()

    # x = [source[1], x[1], source[2]]
    assert gradients(dovetail) == ([0.0, 2.0, 0.0], [0.0, 1.0, 3.0])
    assert gradients(torch) == ([0.0, 2.0, 0.0], [3.0, 1.0, 3.0])


@pytest.mark.parametrize("call", WRITES)
def test_every_mode_agrees_about_what_a_later_write_replaces(call: str) -> None:
    x = dovetail.tensor([0.5, -1.0, 2.0], dtype=dovetail.float64)
    source = dovetail.tensor([0.3, 0.7, -0.4], dtype=dovetail.float64)
    func = dovetail.func

    def total(x: Any, source: Any) -> Any:
        weights = dovetail.tensor([1.0, 2.0, 3.0], dtype=dovetail.float64)
        return (written_at(dovetail, call, x, source).sin() * weights).sum()

    def derivative(of: Any) -> Any:
        return of(lambda source: total(x, source))

    # sin(source[1]) + 2 sin(x[1]) + 3 sin(source[2])
    slopes = dovetail.stack([source[0] * 0, source[1].cos(), 3 * source[2].cos()])
    curvature = dovetail.diag(
        dovetail.stack([source[0] * 0, -source[1].sin(), -3 * source[2].sin()])
    )
    for first in (func.grad, func.jacfwd, func.jacrev):
        dovetail.testing.assert_close(derivative(first)(source), slopes)
        mapped = func.vmap(derivative(first))(dovetail.stack([source, source]))
        dovetail.testing.assert_close(mapped, dovetail.stack([slopes, slopes]))
        for second in (func.jacfwd, func.jacrev):
            dovetail.testing.assert_close(second(derivative(first))(source), curvature)


def test_only_the_last_row_that_a_slice_of_indices_writes_has_a_gradient() -> None:
    x = dovetail.ones(2, 3, 2)
    source = dovetail.ones(2, 4, 2, requires_grad=True)
    made = x * 1
    made[:, dovetail.tensor([0, 0, 2, 0])] = source
    made.sum().backward()
    assert source.grad[:, :, 0].tolist() == [[0.0, 0.0, 1.0, 1.0]] * 2
    assert source.grad[:, :, 1].tolist() == [[0.0, 0.0, 1.0, 1.0]] * 2


def test_frequencies_and_norms_of_an_embedding_are_differentiated_as_a_loop_is() -> None:
    rows = dovetail.tensor([[[3.0, 4.0], [1.0, 1.0]], [[2.0, 0.5], [0.1, 0.2]]])
    index = dovetail.tensor([[0, 1, 0], [0, 0, 1]])

    def total(rows: Any, index: Any) -> Any:
        made = rows.clone()
        dovetail.embedding_renorm_(made, index, 0.5, 2.0)
        return (made**3).sum()

    mapped = dovetail.func.grad(lambda x: dovetail.func.vmap(total)(x, index).sum())(rows)
    looped = [dovetail.func.grad(total)(rows[k], index[k]) for k in (0, 1)]
    dovetail.testing.assert_close(mapped, dovetail.stack(looped))


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
def test_the_gradient_of_an_embedding_by_frequencies_is_differentiated_as_it_is() -> None:
    def slopes(lib: Any) -> Any:
        index, rows = lib.tensor([0, 0, 1]), lib.tensor([[2.0], [3.0]])

        def gradient(rows: Any) -> Any:
            def loss(rows: Any) -> Any:
                picked = lib.nn.functional.embedding(index, rows, scale_grad_by_freq=True)
                return (picked**2).sum()

            return lib.func.grad(loss)(rows)

        given = lib.ones(3, 1, requires_grad=True)
        made = lib.ops.aten.embedding_dense_backward(given, index, 2, -1, True)
        (made * lib.tensor([[2.0], [4.0]])).sum().backward()
        tangent = lib.func.jvp(gradient, (rows,), (lib.ones(2, 1),))[1]
        return tangent.flatten().tolist(), given.grad.flatten().tolist()

    # The gradient is 2 rows: that of row 0 is there twice, and halved. Of made, half of each.
    assert slopes(dovetail) == ([2.0, 2.0], [1.0, 1.0, 4.0])
    assert slopes(torch) == ([2.0, 2.0], [2.0, 2.0, 4.0])
