"""A backward that begins at a view, or ends at what was asked for: the short ways to the engine do
what the long ones do.
"""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

import dovetail
from dovetail import Tensor
from dovetail.autograd import Function, grad


def leaf() -> Tensor:
    return dovetail.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)


def test_backward_of_a_view_whose_base_was_written_later_goes_through_the_write() -> None:
    x = leaf()
    base = x * 2
    view = base[0]
    base.mul_(5)
    view.backward(dovetail.ones(2))
    assert x.grad.tolist() == [[10.0, 10.0], [0.0, 0.0]]


def test_grad_of_a_view_whose_base_was_written_later_goes_through_the_write() -> None:
    x = leaf()
    base = x * 2
    view = base[0, 1]
    base.mul_(5)
    (found,) = grad(view, x)
    assert found.tolist() == [[0.0, 10.0], [0.0, 0.0]]


def test_a_view_of_a_leaf_made_without_a_graph_is_a_leaf_of_its_own() -> None:
    x = leaf()
    with dovetail.no_grad():
        view = x[0]
    view.backward(dovetail.ones(2))
    assert view.is_leaf and view.grad.tolist() == [1.0, 1.0]
    assert x.grad is None


def test_a_gradient_that_is_itself_a_view_is_read_where_it_is_now() -> None:
    x, given = leaf(), dovetail.zeros(2, 2)
    seed = given[1]
    given.fill_(3.0)
    (x[0] * 2).backward(seed)
    assert x.grad.tolist() == [[6.0, 6.0], [0.0, 0.0]]


class Refusing(Function):
    """Raises if it is differentiated."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 1

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        raise AssertionError("this leads to nothing that was asked for")


def test_grad_runs_only_what_leads_to_its_inputs() -> None:
    x, other = leaf(), leaf()
    total = (x * x + Refusing.apply(other * 2)).sum()
    (found,) = grad(total, x)
    assert found.tolist() == [[2.0, 4.0], [6.0, 8.0]]
    assert other.grad is None and x.grad is None


def test_grad_by_a_leaf_and_by_what_was_made_of_it_runs_the_way_between() -> None:
    x = leaf()
    squared = x * x
    total = (squared * 3).sum() + x.sum()
    by_squared, by_leaf = grad(total, (squared, x))
    assert by_squared.tolist() == [[3.0, 3.0], [3.0, 3.0]]
    assert by_leaf.tolist() == [[7.0, 13.0], [19.0, 25.0]]


def test_grad_adds_all_that_comes_to_a_leaf_before_its_hook_sees_it() -> None:
    x, seen = leaf(), []
    x.register_hook(lambda gradient: seen.append(gradient.tolist()))
    (found,) = grad((x * x).sum() + x.sum(), x)
    assert seen == [found.tolist()] == [[[3.0, 5.0], [7.0, 9.0]]]


def test_grad_calls_a_hook_of_a_leaf_that_a_hook_before_it_registers() -> None:
    x, seen = leaf(), []
    squared = x * x

    def register(gradient: Tensor) -> None:
        x.register_hook(lambda found: seen.append(found.tolist()))

    squared.register_hook(register)
    grad(squared.sum(), x)
    assert seen == [[[2.0, 4.0], [6.0, 8.0]]]


def test_grad_refuses_an_input_that_was_not_used() -> None:
    x, other = leaf(), leaf()
    with pytest.raises(RuntimeError, match="at index 1 appears to not have been used"):
        grad((x * x).sum(), (x, other))


class Doubling(Function):
    """Doubles; what its backward returns is kept where `kept` is a list."""

    kept: ClassVar[list[Tensor] | None] = None
    places: ClassVar[list[int]] = []

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        made = grad * 2
        if Doubling.kept is not None:
            Doubling.kept.append(made)
        else:
            Doubling.places.append(made.data_ptr())
        return made


def test_what_a_function_at_the_root_returned_and_keeps_is_not_the_gradient_of_the_leaf(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept: list[Tensor] = []
    monkeypatch.setattr(Doubling, "kept", kept)
    x = leaf()
    Doubling.apply(x).backward(dovetail.ones(2, 2))
    x.grad.zero_()
    assert kept[0].tolist() == [[2.0, 2.0], [2.0, 2.0]]


@pytest.mark.cpu_only(reason="where an array lies is the backend's to say")
def test_what_a_function_at_the_root_returned_becomes_the_gradient_of_the_leaf_without_a_copy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    places: list[int] = []
    monkeypatch.setattr(Doubling, "places", places)
    x = leaf()
    Doubling.apply(x).backward(dovetail.ones(2, 2))
    assert x.grad.data_ptr() == places[0]
