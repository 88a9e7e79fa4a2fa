"""A leaf's gradient shares memory with nothing: random graphs that pass one array to many places.

DOVETAIL_PROGRAMS sets how many programs run, DOVETAIL_FIRST_PROGRAM which is the first.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import pytest

import dovetail
from dovetail import Tensor
from dovetail.autograd import Function
from dovetail_autograd.graph.accumulate import watch

COUNT = int(os.environ.get("DOVETAIL_PROGRAMS", "200"))
FIRST = int(os.environ.get("DOVETAIL_FIRST_PROGRAM", "0"))


@pytest.fixture(autouse=True, params=[False, True], ids=["no leaf has hooks", "leaves have hooks"])
def leaves_have_hooks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin as a process in which no leaf ever had a hook, or as one in which one had: the engine
    counts the gradients of leaves in the second only.
    """
    monkeypatch.setattr(watch, "leaves", request.param)


kept: list[Tensor] = []
"""What the user holds while backward runs."""


class PassesOneToAll(Function):
    """Returns one and the same tensor for all inputs."""

    @staticmethod
    def forward(ctx: Any, *xs: Tensor) -> Tensor:
        ctx.count = len(xs)
        return sum(xs[1:], start=xs[0] * 1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        made = grad * 1
        return (made,) * ctx.count


class KeepsIt(PassesOneToAll):
    """Keeps what it returns."""

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        kept.append(grad * 1)
        return (kept[-1],) * ctx.count


class GivesAlways(PassesOneToAll):
    """Returns a tensor that is there before and after backward."""

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        return (kept[0],) * ctx.count


def hooked(x: Tensor, y: Tensor) -> Tensor:
    total = x + y
    total.register_hook(lambda grad: kept[0])
    return total


STEPS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "scaled": lambda x, y: x * 3 + y,
    "times what is kept": lambda x, y: x * kept[0] + y,
    "stack": lambda x, y: dovetail.stack([x, y, x]).sum(0),
    "cat": lambda x, y: dovetail.cat([x, y]).reshape(2, 2, 2).sum(0),
    "expand": lambda x, y: x.expand(3, 2, 2).sum(0) + y,
    "transposed": lambda x, y: x.t() + y,
    "transposed twice": lambda x, y: x.t().view(2, 2).t() + y,
    "viewed": lambda x, y: x.reshape(4).view(2, 2) + y.clone(),
    "rows": lambda x, y: dovetail.stack([x[0], y[1]]) + y,
    "where": lambda x, y: dovetail.where(kept[0] > 2, x, y) + y,
    "in place": lambda x, y: (x * 1).add_(y),
    "one to all": lambda x, y: PassesOneToAll.apply(x, y, x),
    "kept": KeepsIt.apply,
    "always the same": GivesAlways.apply,
    "hook": hooked,
}


def run(rng: random.Random) -> None:
    """Run one program, and check what backward twice gives, and that no gradient has company."""
    weight = dovetail.tensor([[1.0, 2.0], [3.0, 4.0]])
    given = dovetail.tensor([[5.0, 6.0], [7.0, 8.0]])
    kept[:] = [weight]
    leaves = [dovetail.full((2, 2), float(i), requires_grad=True) for i in range(3)]
    made = list(leaves)
    names = []
    for _ in range(rng.randint(1, 5)):
        names.append(rng.choice(list(STEPS)))
        made.append(STEPS[names[-1]](rng.choice(made), rng.choice(made[-3:])))
    output = (made[-1] + rng.choice(made)) * weight if rng.random() < 0.7 else made[-1]
    expected = dovetail.autograd.grad(output, leaves, given, retain_graph=True, allow_unused=True)
    wanted = [None if each is None else (each * 2).tolist() for each in expected]
    output.backward(given, retain_graph=True)
    output.backward(given)
    assert [None if x.grad is None else x.grad.tolist() for x in leaves] == wanted, names
    others = [*kept, given, *expected]
    values = [None if each is None else each.tolist() for each in others]
    for leaf, grad in zip(leaves, wanted, strict=True):
        if grad is not None:
            assert leaf.grad is not None
            assert leaf.grad.tolist() == grad, names
            leaf.grad.fill_(100)
    assert [None if each is None else each.tolist() for each in others] == values, names
    assert weight.tolist() == [[1, 2], [3, 4]], names


def test_a_gradient_is_never_memory_that_something_else_holds() -> None:
    print(f"DOVETAIL_FIRST_PROGRAM={FIRST}")
    for seed in range(FIRST, FIRST + COUNT):
        try:
            run(random.Random(seed))
        except AssertionError as error:
            pytest.fail(f"DOVETAIL_FIRST_PROGRAM={seed} DOVETAIL_PROGRAMS=1: {error}")


def test_two_leaves_below_one_sum_do_not_share_a_gradient() -> None:
    a, b, c = (dovetail.tensor([1.0, 2.0], requires_grad=True) for _ in range(3))
    d = c * 3
    y = ((a + b) + d * 2) * dovetail.tensor([6.0, 16.0])
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert a.grad is not None
    assert b.grad is not None
    assert a.grad.tolist() == b.grad.tolist() == [12, 32]
    a.grad.zero_()
    assert b.grad.tolist() == [12, 32]


def test_a_tensor_that_backward_keeps_is_not_taken_over_as_a_gradient() -> None:
    a, b = (dovetail.ones(2, 2, requires_grad=True) for _ in range(2))
    kept[:] = [dovetail.full((2, 2), 5.0)]
    GivesAlways.apply(a, b * 2).sum().backward()
    assert a.grad is not None
    a.grad.add_(100)
    assert kept[0].tolist() == [[5, 5], [5, 5]]
