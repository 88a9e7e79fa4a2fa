"""Kernels with conditions below autograd, `vmap` and shape rules; in variants, under promotion, in
backward and beside fusions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dovetail
from dovetail.library import Library

Offer = Callable[..., list[str]]


@pytest.fixture
def offer() -> Iterator[Offer]:
    """Put a kernel with a condition before that of an operator; returns the names of calls that it
    takes.
    """
    library = Library("aten", "IMPL")
    taken: list[str] = []
    device = dovetail.get_default_device().type

    def put(
        name: str, kernel: Callable[..., Any], when: Callable[..., Any], *, arrays: bool = True
    ) -> list[str]:
        def noting(*args: Any, **kwargs: Any) -> Any:
            taken.append(name)
            return kernel(*args, **kwargs)

        register = library.array_impl if arrays else library.impl
        register(name, noting, backend=device, when=when, why="a vector")
        return taken

    yield put
    library._destroy()


def is_vector(x: Any, *_: Any, **__: Any) -> bool:
    return bool(x.ndim == 1)


def gradient(*shape: int) -> list[float]:
    x = dovetail.full(shape, 2.0, requires_grad=True)
    x.sin().sum().backward()
    return x.grad.flatten().tolist()


def test_a_call_that_takes_it_is_recorded_and_differentiated_like_any_other(offer: Offer) -> None:
    expected = gradient(2), gradient(2, 1)
    offer("sin", np.sin, is_vector)
    taken = offer("cos", np.cos, is_vector)
    assert (gradient(2), gradient(2, 1)) == expected
    assert taken == ["sin", "cos"]  # also in backward, whose form over arrays gives way to calls


def test_the_node_and_the_results_of_a_tensor_kernel_are_those_of_the_operator(
    offer: Offer,
) -> None:
    taken = offer("mul.Tensor", lambda x, y: x.clone().fill_(7.0), is_vector, arrays=False)
    x = dovetail.ones(2, requires_grad=True)
    y = x * x
    assert y.tolist() == [7.0, 7.0] and taken
    assert y.grad_fn is not None and "MulBackward" in y.grad_fn.name()
    assert not (x[:, None] * x[:, None]).eq(7.0).any()


def test_vmap_and_shape_rules_do_not_know_of_it(offer: Offer) -> None:
    def refuse(*_: Any) -> bool:
        raise AssertionError("asked")

    x = dovetail.ones(3, 2)
    taken = offer("sin", np.sin, lambda x: x.shape == (3, 2))
    assert dovetail.func.vmap(dovetail.sin)(x).shape == (3, 2) and taken == ["sin"]
    offer("cos", lambda x: x, refuse)
    assert dovetail.ones(3, device="meta").cos().shape == (3,)


def test_variants_of_an_operator_have_its_array_kernel_and_ask_the_same(offer: Offer) -> None:
    x = dovetail.ones(2)
    expected = dovetail.full((2,), 5.0)
    taken = offer("exp", lambda x: x * 0 + 5, is_vector)
    out = dovetail.empty(2)
    assert x.exp().equal(expected) and dovetail.exp(x, out=out) is out and out.equal(expected)
    version = x._version
    assert x.exp_() is x and x.equal(expected) and x._version > version
    assert taken == ["exp"] * 3
    assert dovetail.zeros(1, 1).exp_().item() == 1.0 and len(taken) == 3


def test_a_condition_sees_arrays_before_promotion_and_numbers_as_they_are(offer: Offer) -> None:
    seen: list[Any] = []

    def when(x: Any, y: Any) -> bool:
        seen.append((str(x.dtype), y if isinstance(y, int) else str(y.dtype)))
        return True

    offer("mul.Tensor", lambda x, y: x * y, when)
    x = dovetail.ones(2)
    assert (x * 3).tolist() == [3.0, 3.0]
    assert (x * dovetail.ones(2, dtype=dovetail.int64)).dtype is dovetail.float32
    assert seen == [("float32", 3), ("float32", "int64")]


def test_a_fused_call_gives_way_to_a_kernel_of_one_of_its_operators(offer: Offer) -> None:
    x, target = dovetail.randn(4, 3), dovetail.tensor([0, 1, 2, 0])
    expected = dovetail.nn.functional.cross_entropy(x, target)

    def log_softmax(x: Any, dim: int, half_to_float: bool) -> Any:
        shifted = x - x.max(dim, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(dim, keepdims=True))

    taken = offer("_log_softmax", log_softmax, lambda x, *_: x.ndim == 2)
    assert dovetail.allclose(dovetail.nn.functional.cross_entropy(x, target), expected)
    assert taken == ["_log_softmax"]


def test_a_composite_is_replaced_only_where_nothing_is_recorded(offer: Offer) -> None:
    x, weight = dovetail.ones(3), dovetail.ones(2, 3, requires_grad=True)
    taken = offer(
        "linear", lambda x, w, b=None: x @ w.t(), lambda x, w, b: x.ndim == 1, arrays=False
    )
    operator = dovetail.ops.aten.linear
    assert operator(x, weight).grad_fn is not None and not taken
    with dovetail.no_grad():
        assert operator(x, weight).tolist() == [3.0, 3.0] and taken == ["linear"]


def test_a_view_operator_keeps_its_base(offer: Offer) -> None:
    taken = offer("t", lambda x: x.T, lambda x: x.ndim == 2)
    x = dovetail.zeros(2, 3, requires_grad=True).clone()
    view = x.t()
    assert taken == ["t"] and view._base is x
    view.add_(1)
    assert x.sum().item() == 6.0


def test_a_trace_sees_calls_with_conditions(offer: Offer) -> None:
    offer("sin", np.sin, is_vector)
    with dovetail.tracing() as trace:
        dovetail.ones(2).sin()
    (call,) = trace.calls("aten::sin")
    assert [step.condition for step in call.decision.chain][-2:] == ["a vector", ""]
    assert "if a vector" in str(trace)


@pytest.mark.parametrize("name", ["add.Tensor", "mul.Tensor", "sum.dim_IntList", "mm", "tanh"])
def test_calls_that_a_condition_refuses_are_as_if_it_was_not_there(offer: Offer, name: str) -> None:
    def results() -> list[Any]:
        made = []
        for dtype in (dovetail.float32, dovetail.float64):
            x = dovetail.arange(6, dtype=dtype).reshape(2, 3).requires_grad_()
            y = (x @ x.T + 1.5).tanh().sum(1) * 2
            y.sum().backward()
            made += [y.tolist(), x.grad.tolist(), y.grad_fn.name()]
        return made

    expected = results()
    taken = offer(name, lambda *_, **__: 1 / 0, lambda *_, **__: False)
    assert results() == expected and not taken
