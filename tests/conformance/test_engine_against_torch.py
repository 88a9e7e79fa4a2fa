"""The engine and its leaves: the dtype of gradients, leaves that stop requiring grad, callbacks and
threads, as in PyTorch.
"""

from __future__ import annotations

from typing import Any

import pytest
from same_programs import Programs, assert_same, chain, tried

import dovetail


def leaf(lib: Any) -> Any:
    return lib.ones(2, requires_grad=True)


def name(kind: Any) -> str | None:
    return None if kind is None else str(kind).rpartition(".")[2]


def backward_in_another_dtype(lib: Any) -> Any:
    x = leaf(lib)
    x.grad_dtype = lib.float64
    for _ in range(2):
        (x * 2).sum().backward()
    return name(x.grad.dtype), x.grad.tolist()


def dtype_chosen_after_forward(lib: Any) -> Any:
    x = leaf(lib)
    y = (x * 2).sum()
    x.grad_dtype = lib.float64
    y.backward()
    return name(x.grad.dtype)


def any_dtype(lib: Any) -> Any:
    x = leaf(lib)
    x.grad_dtype = None
    (x * 2).sum().backward()
    first = name(x.grad.dtype)
    x.grad = lib.ones(2, dtype=lib.float64)
    (x * 2).sum().backward()
    return first, name(x.grad.dtype), x.grad.tolist(), name(x.grad_dtype)


def dtype_against_the_gradient(lib: Any) -> Any:
    x = leaf(lib)
    x.grad = lib.ones(2)
    x.grad_dtype = lib.float64


def set_dtype(lib: Any, tensor: Any, value: Any) -> Any:
    tensor.grad_dtype = value
    return name(tensor.grad_dtype)


def leaf_detached(lib: Any) -> Any:
    x = leaf(lib)
    y = (x * 3).sum()
    x.detach_()
    y.backward()
    return x.grad, x.requires_grad


def leaf_switched_off(lib: Any, again: bool) -> Any:
    x, w = leaf(lib), leaf(lib)
    seen: list[Any] = []
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad))
    y = (x * w * 3).sum()
    x.requires_grad_(False)
    if again:
        x.requires_grad_(True)
    y.backward()
    return x.grad if x.grad is None else x.grad.tolist(), w.grad.tolist(), len(seen)


def leaf_told_not_to_require_grad(lib: Any) -> Any:
    x, y = lib.ones(2, requires_grad=True), lib.ones(2, requires_grad=True)
    total = (x * y).sum()
    x.requires_grad_(False)
    total.backward()
    return y.grad if x.grad is None else x.grad


def multithreading(lib: Any) -> Any:
    enabled = lib._C._is_multithreading_enabled
    before = enabled()
    with lib.autograd.grad_mode.set_multithreading_enabled(False):
        inside = enabled()
    lib.autograd.grad_mode.set_multithreading_enabled(False)
    after_call = enabled()
    lib.autograd.grad_mode.set_multithreading_enabled(True)
    return before, inside, after_call, enabled()


def callback(lib: Any) -> Any:
    seen: list[str] = []
    engine = lib.autograd.Variable._execution_engine
    x = leaf(lib)

    def hook(grad: Any) -> None:
        engine.queue_callback(lambda: seen.append(f"end {x.grad.tolist()}"))
        seen.append("hook")

    x.register_hook(hook)
    (x * 2).sum().backward()
    return seen


def materialized(lib: Any) -> Any:
    x, a = leaf(lib), leaf(lib)
    (first,) = lib.autograd.grad((x * a).sum(), x, create_graph=True)
    (second,) = lib.autograd.grad(first.sum(), x, create_graph=True, materialize_grads=True)
    (third,) = lib.autograd.grad(second.sum(), x, materialize_grads=True)
    edge = lib.autograd.graph.get_gradient_edge(x)
    return (
        [(each.tolist(), each.requires_grad, each.is_leaf) for each in (second, third)],
        tried(lambda: lib.autograd.grad(first.sum(), edge, materialize_grads=True)),
    )


def materialized_batched(lib: Any) -> Any:
    x, a = leaf(lib), leaf(lib)
    y, seeds = x * 2, lib.ones(3, 2)
    found = lib.autograd.grad(y, (x, a), seeds, is_grads_batched=True, materialize_grads=True)
    return [each.tolist() for each in found]


def gradient_given_underneath(lib: Any) -> Any:
    x = leaf(lib)
    x._grad = given = lib.ones(2)
    same = x.grad is given, x._grad is given
    refused = [
        tried(lambda value=value: setattr(x, "_grad", value), words=30)
        for value in (lib.ones(3), 5, x)
    ]
    x._grad = None
    return same, refused, x.grad, (x * 2)._grad


def accumulated_with_graph(lib: Any) -> Any:
    x = lib.ones(2, 3).t().requires_grad_()
    names = []
    for _ in range(2):
        (x * x).sum().backward(create_graph=True)
        names.append(chain(x.grad)[:1])
    return names, x.grad.stride(), x.grad.tolist()


def anomaly_asked(lib: Any) -> Any:
    answers = []
    for context in (
        lib.enable_grad(),
        lib.autograd.set_detect_anomaly(True),
        lib.autograd.set_detect_anomaly(True, check_nan=False),
    ):
        with context:
            answers.append((lib.is_anomaly_enabled(), lib.is_anomaly_check_nan_enabled()))
        lib.autograd.set_detect_anomaly(False)
    return answers, lib.is_anomaly_enabled()


PROGRAMS = Programs(
    {
        "zeros for what was not used, to the third order": materialized,
        "zeros for what was not used, for a batch": materialized_batched,
        "a gradient given as _grad": gradient_given_underneath,
        "gradients accumulated with their graph": accumulated_with_graph,
        "anomaly mode when asked": anomaly_asked,
        "gradients of another dtype": backward_in_another_dtype,
        "the dtype of gradients chosen after forward": dtype_chosen_after_forward,
        "gradients of any dtype": any_dtype,
        "another dtype than that of the gradient": dtype_against_the_gradient,
        "the dtype of gradients": lambda lib: name(leaf(lib).grad_dtype),
        "the dtype of gradients of a non-leaf": lambda lib: (leaf(lib) * 2).grad_dtype,
        "setting it on a non-leaf": lambda lib: set_dtype(lib, leaf(lib) * 2, lib.float64),
        "setting it to a number": lambda lib: set_dtype(lib, leaf(lib), 3),
        "setting it": lambda lib: set_dtype(lib, leaf(lib), lib.float16),
        "a leaf detached in place": leaf_detached,
        "a leaf switched off": lambda lib: leaf_switched_off(lib, False),
        "a leaf switched off and on": lambda lib: leaf_switched_off(lib, True),
        "multithreading": multithreading,
        "a callback": callback,
        "a callback outside": lambda lib: lib.autograd.Variable._execution_engine.queue_callback(
            print
        ),
        "Variable": lambda lib: (
            isinstance(lib.ones(1), lib.autograd.Variable),
            isinstance(1, lib.autograd.Variable),
            lib.autograd.Variable(lib.ones(1), requires_grad=True).requires_grad,
        ),
        "a leaf told not to require grad gathers none": leaf_told_not_to_require_grad,
    }
)


@pytest.mark.usefixtures("every_warning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_gives_the_same_in_torch(name: str) -> None:
    assert_same(PROGRAMS[name], words=35, warns=True)


def test_a_gradient_that_became_the_leafs_own_is_shared_with_nothing() -> None:
    kept: list[Any] = []
    weight = dovetail.ones(3, 3, requires_grad=True)

    class Keep(dovetail.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            kept.append(grad)
            return grad.t().t()

    Keep.apply(weight).mul(dovetail.ones(3, 3)).backward(dovetail.ones(3, 3))
    weight.grad.add_(1)
    assert kept[0].tolist() == [[1.0] * 3] * 3
