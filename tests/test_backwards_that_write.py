"""A backward or a hook that writes to its gradient changes nothing else: random graphs give the
gradients that they give when each returns a new tensor instead.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import dovetail
from dovetail.autograd import Function

COUNT = 300


class Thrice(Function):
    """Three times as large a gradient, in a new tensor."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 3


class ThriceInPlace(Thrice):
    """The same, written to the gradient."""

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad.mul_(3)


class Both(Function):
    """A sum that gives one gradient to both operands."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        return x + y

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad, grad


class Saved(Function):
    """A product whose gradient is what it saved."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        return (x * y).sum().reshape(1)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        x, y = ctx.saved_tensors
        return y, x


class Two(Function):
    """Two results, whose gradients backward writes to or not."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        return x + y, x - y

    @staticmethod
    def backward(ctx: Any, one: Any, other: Any) -> Any:
        return one * 2, other * 3


class TwoInPlace(Two):
    """The same, in place."""

    @staticmethod
    def backward(ctx: Any, one: Any, other: Any) -> Any:
        return one.mul_(2), other.mul_(3)


def hooked(x: Any, writes: bool) -> Any:
    x = x * 1
    x.register_hook(lambda grad: grad.mul_(2) if writes else grad * 2)
    return x


def hooked_before(x: Any, writes: bool) -> Any:
    x = x.clone()
    x.grad_fn.register_prehook(lambda grads: tuple([g.mul_(2) if writes else g * 2 for g in grads]))
    return x


def hooked_after(x: Any, y: Any, writes: bool) -> Any:
    x = x + y

    def after(inputs: Any, outputs: Any) -> Any:
        if not writes:
            return inputs[0] * 2, inputs[1]
        inputs[0].mul_(2)
        return inputs

    x.grad_fn.register_hook(after)
    return x


STEPS: dict[str, Callable[[Any, Any, bool], Any]] = {
    "add": lambda x, y, writes: x + y,
    "sub": lambda x, y, writes: x - y,
    "views": lambda x, y, writes: x.view(3).unsqueeze(0)[0] + y.reshape(1, 3).squeeze(0),
    "transposed": lambda x, y, writes: (x[None] + y[None]).T.reshape(3),
    "clone": lambda x, y, writes: x.clone() + y,
    "cat": lambda x, y, writes: dovetail.cat([x, y])[1:4],
    "in place": lambda x, y, writes: (x * 1).add_(y),
    "one gradient for both": lambda x, y, writes: Both.apply(x, y),
    "what was saved": lambda x, y, writes: Saved.apply(x, y) * x,
    "thrice": lambda x, y, writes: (ThriceInPlace if writes else Thrice).apply(x) + y,
    "thrice last": lambda x, y, writes: y + (ThriceInPlace if writes else Thrice).apply(x),
    "two": lambda x, y, writes: sum((TwoInPlace if writes else Two).apply(x, y)),
    "hook": lambda x, y, writes: y + hooked(x, writes),
    "hook before": lambda x, y, writes: y + hooked_before(x, writes),
    "hook after": hooked_after,
}


def gradients(seed: int, writes: bool) -> list[list[float]]:
    draw = random.Random(seed)
    leaves = [
        dovetail.tensor([1.0 + k, 2.0, 3.0 - k], dtype=dovetail.float64, requires_grad=True)
        for k in range(3)
    ]
    known = list(leaves)
    for leaf in leaves:
        if draw.random() < 0.2:
            leaf.register_hook(lambda grad: grad.mul_(5) if writes else grad * 5)
    for _ in range(draw.randint(1, 6)):
        step = STEPS[draw.choice(list(STEPS))]
        known.append(step(draw.choice(known), draw.choice(known), writes))
    root = known[-1] + draw.choice(known)
    seed_of_root = dovetail.tensor([1.0, -1.0, 0.5], dtype=dovetail.float64)
    create_graph = draw.random() < 0.4
    if draw.random() < 0.5:
        root.backward(seed_of_root, inputs=leaves, create_graph=create_graph)
        found = [leaf.grad for leaf in leaves]
    else:
        wanted = [*leaves, *draw.sample(known, 2)]
        found = list(
            dovetail.autograd.grad(
                root, wanted, seed_of_root, create_graph=create_graph, allow_unused=True
            )
        )
    given = [leaf.tolist() for leaf in leaves]
    return [*[[] if each is None else each.tolist() for each in found], *given]


@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True:UserWarning")
@pytest.mark.parametrize("first", range(0, COUNT, 50))
def test_gradients_are_those_of_backwards_that_write_nothing(first: int) -> None:
    compared = 0
    for seed in range(first, first + 50):
        try:
            found = gradients(seed, writes=True)
        except RuntimeError as error:  # a leaf that was saved is a gradient: no write goes there
            assert "a leaf Variable that requires grad" in str(error)
        else:
            compared += 1
            assert found == gradients(seed, writes=False), seed
    assert compared > 40


def test_gradients_without_memory_reach_functions_and_hooks() -> None:
    class Twice(dovetail.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad.mul_(2)

    x = dovetail.ones(2, 3, device="meta", requires_grad=True)
    made = Twice.apply(x) + x
    made.register_hook(lambda grad: grad + 1)
    made.sum().backward()
    assert x.grad.is_meta
    assert x.grad.shape == (2, 3)
