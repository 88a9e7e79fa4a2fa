"""What code of a dispatch mode may do while a backward adds a gradient to a leaf."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from small_library import IS_SMALL

from dovetail_dispatcher import TorchDispatchMode

if IS_SMALL:
    pytest.skip("these programs need the front end", allow_module_level=True)
dovetail = pytest.importorskip("dovetail")


class _Watching(TorchDispatchMode):
    """Runs `then` the first time that an operator runs inside a leaf's node."""

    def __init__(self, then: Callable[[], None]) -> None:
        super().__init__()
        self.then = then
        self.ran = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        node = dovetail._C._current_autograd_node()
        if node is not None and node.name().endswith("AccumulateGrad") and not self.ran:
            self.ran += 1
            self.then()
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("has_gradient", [False, True])
def test_a_mode_asks_for_the_node_of_a_leaf(has_gradient: bool, create_graph: bool) -> None:
    leaf = dovetail.ones(3, requires_grad=True)
    if has_gradient:
        leaf.grad = dovetail.ones(3)
    nodes = []
    with _Watching(lambda: nodes.append(dovetail._C._current_autograd_node())) as mode:
        (leaf * 2).sum().backward(create_graph=create_graph)
    assert mode.ran == 1
    assert nodes[0].variable is leaf
    assert leaf.grad is not None
    assert leaf.grad.tolist() == [2 + has_gradient] * 3


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("has_gradient", [False, True])
def test_a_mode_runs_another_backward_into_the_leaf(has_gradient: bool, create_graph: bool) -> None:
    leaf = dovetail.ones(3, requires_grad=True)
    if has_gradient:
        leaf.grad = dovetail.ones(3)
    other = (leaf * 5).sum()
    with _Watching(other.backward) as mode:
        (leaf * 2).sum().backward(create_graph=create_graph)
    assert mode.ran == 1
    assert leaf.grad is not None
    assert leaf.grad.tolist() == [7 + has_gradient] * 3
