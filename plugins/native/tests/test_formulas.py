"""Bodies of nodes as programs of the core: each form that is lowered computes what its text in
Python does, and each that is not is left to Python.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

core = pytest.importorskip("dovetail_native._core", reason="built without a C compiler")
dovetail = pytest.importorskip("dovetail", reason="the front end is not installed")

from dovetail_dispatcher import compiled_code  # noqa: E402 - after what may be missing
from dovetail_native.formulas import lowered_body  # noqa: E402

pytestmark = pytest.mark.skipif(not compiled_code.is_in_force(), reason="it is switched off")

K: Any = SimpleNamespace(exp=np.exp, multiply=np.multiply, sum=np.sum)
HALF = 0.5
k_of_module = K


def scaled(node: Any, k: Any, edges: Any, grad: Any) -> Any:
    made = again = k.multiply(grad, node.scale)
    return made, again


def by_a_flag(node: Any, k: Any, edges: Any, grad: Any) -> Any:
    if node.flag:  # noqa: SIM108 - a statement is what is tried
        made = k.exp(grad)
    else:
        made = grad * HALF
    return made


def by_none(node: Any, k: Any, edges: Any, grad: Any) -> Any:
    made = None if grad is None else k.exp(grad)
    if made is not None:
        made = made + 1
    return (made,)


def by_equality(node: Any, k: Any, edges: Any, grad: Any) -> Any:
    return k.exp(grad) if node.scale == 3 else [each for each in grad]


def with_keywords(node: Any, k: Any, edges: Any, grad: Any) -> Any:
    k.exp(grad)
    return k.sum(grad, axis=node.CONSTANT, keepdims=True)


def unpacked(node: Any, k: Any, edges: Any, grad: Any) -> Any:
    first, second = divmod(node.scale, 2)
    return grad * first, grad * second


def of_stars(node: Any, k: Any, edges: Any, grad: Any) -> Any:
    pair = (grad, node.scale)
    return k.multiply(*pair)


def bound_within(node: Any, k: Any, edges: Any, grad: Any) -> Any:
    return grad if (size := node.scale) is None else [size, *grad]


def of_an_attribute(node: Any, k: Any, edges: Any, grad: Any) -> Any:
    return grad * node.loose


def that_is_an_attribute(node: Any, k: Any, edges: Any, grad: Any) -> Any:
    return node.loose


LOWERED = [scaled, by_a_flag, by_none, by_equality, with_keywords, unpacked, of_stars]
LOWERED += [of_an_attribute]


def with_a_loop(node: Any, k: Any, edges: Any, grad: Any) -> Any:
    for _ in range(2):
        grad = grad * 2
    return grad


def with_a_star(node: Any, k: Any, edges: Any, grad: Any) -> Any:
    _, *others = grad
    return others


def without_an_end(node: Any, k: Any, edges: Any, grad: Any) -> Any:
    k.exp(grad)


def with_a_default(node: Any, k: Any, edges: Any, grad: Any = None) -> Any:
    return grad


def with_other_parameters(self: Any, k: Any, edges: Any, grad: Any) -> Any:
    return grad


def of_an_unknown_name(node: Any, k: Any, edges: Any, grad: Any) -> Any:
    return nothing_of_this_name(grad)  # type: ignore[name-defined]  # noqa: F821


def read_before_it_is_bound(node: Any, k: Any, edges: Any, grad: Any) -> Any:
    made = [size := 2, grad]
    return k.multiply(made, size)


LEFT = [
    with_a_loop,
    with_a_star,
    without_an_end,
    with_a_default,
    with_other_parameters,
    of_an_unknown_name,
    that_is_an_attribute,
    read_before_it_is_bound,
]


@pytest.fixture(autouse=True)
def _loaded() -> None:
    (dovetail.ones(1, requires_grad=True) * 2).backward()


def node_class(function: Callable[..., Any]) -> Any:
    class Node:
        __slots__ = ("flag", "scale")
        CONSTANT = 0
        apply_arrays = function

        @property
        def loose(self) -> float:
            return 7.0

    return Node


def route(function: Callable[..., Any]) -> Any:
    return lowered_body(node_class(function), K)[1]


@pytest.mark.parametrize("function", LOWERED, ids=lambda each: each.__name__)
@pytest.mark.parametrize(("flag", "scale"), [(True, 3), (False, 4)])
def test_a_program_computes_what_its_text_does(
    function: Callable[..., Any], flag: bool, scale: int
) -> None:
    made = node_class(function)
    node = made()
    node.flag, node.scale = flag, scale
    lowered = lowered_body(made, K)[1]
    assert lowered is not None
    for grad in (np.arange(3.0), np.ones((2, 2))):
        found, expected = lowered(node, (), grad), function(node, K, (), grad)
        assert type(found) is type(expected)
        np.testing.assert_array_equal(np.array(found), np.array(expected))


def test_a_gradient_that_is_missing_is_passed_on() -> None:
    made = node_class(by_none)
    assert lowered_body(made, K)[1](made(), (), None) == (None,)


@pytest.mark.parametrize("function", LEFT, ids=lambda each: each.__name__)
def test_other_forms_are_left_to_python(function: Callable[..., Any]) -> None:
    assert route(function) is None


def test_functions_without_text_of_their_own_are_left_to_python() -> None:
    namespace: dict[str, Any] = {}
    exec("def typed(node, k, edges, grad):\n    return grad", namespace)
    assert route(namespace["typed"]) is None
    assert route(lambda node, k, edges, grad: grad) is None
    assert route(np.exp) is None

    def another(node: Any, k: Any, edges: Any, grad: Any) -> Any:
        return grad

    changed = by_a_flag.__code__.replace(co_consts=(*by_a_flag.__code__.co_consts, sys.maxsize))
    another.__code__ = changed
    assert route(another) is None
