"""The engine and its leaves: the dtype of gradients, leaves that stop requiring grad, callbacks and
threads, as in PyTorch.
"""

from __future__ import annotations

from typing import Any

import pytest
from same_programs import Programs, assert_same

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


PROGRAMS = Programs(
    {
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
