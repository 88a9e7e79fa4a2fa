"""A view that shows all of its base has a place of its own in the graph, after writes to the base
too, on arrays without strides as elsewhere.
"""

from __future__ import annotations

import dovetail


def test_a_hook_on_the_view_does_not_see_gradients_of_the_base() -> None:
    x = dovetail.tensor([1.0, 2.0], requires_grad=True)
    base = x * 1
    view = base.view(2)
    base.mul_(3)
    view.register_hook(lambda gradient: gradient * 10)
    (base * base).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [18, 36]


def test_the_view_keeps_no_gradient_of_the_base() -> None:
    x = dovetail.tensor([1.0, 2.0], requires_grad=True)
    base = x * 1
    view = base.view(2)
    base.mul_(3)
    view.retain_grad()
    (base * base).sum().backward()
    assert view.grad is None


def test_the_view_of_a_leaf_that_was_written_without_a_graph_has_a_gradient() -> None:
    x = dovetail.tensor([1.0, 2.0], requires_grad=True)
    view = x.view(2)
    with dovetail.no_grad():
        x.mul_(3)
    (view * view).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [6, 12]


def test_the_view_of_a_leaf_that_needs_no_gradient_any_more_is_a_constant() -> None:
    x = dovetail.tensor([1.0, 2.0], requires_grad=True)
    view = x.view(2)
    x.requires_grad_(False)
    x.mul_(3)
    (view * 2).sum().backward()
    assert x.grad is None
    assert view.tolist() == [3, 6]
