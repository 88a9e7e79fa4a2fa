"""Hooks on saved tensors: what they are given, how often, and what becomes of what they return, as
in PyTorch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from same_programs import Programs, assert_same, tried

Operation = Callable[[Any, Any], Any]

OPERATIONS: dict[str, Operation] = {
    "a power": lambda lib, a: a**3,
    "a root": lambda lib, a: a**0.5,
    "a product with itself": lambda lib, a: a * a,
    "a product with a number": lambda lib, a: a * 3 * a,
    "a product with a constant": lambda lib, a: a * lib.tensor([3.0, 4.0]),
    "a quotient of a number": lambda lib, a: 1 / a,
    "a quotient": lambda lib, a: a / (a * a),
    "a saved result": lambda lib, a: a.exp(),
    "saved results in a row": lambda lib, a: (a * 2).sqrt().sigmoid(),
    "a saved result of a number": lambda lib, a: (a * 2).tanh(),
    "a logarithm": lambda lib, a: a.log(),
    "views": lambda lib, a: (a.view(2, 1) * a).sum(0),
    "an expanded view": lambda lib, a: a.expand(2, 2) * a,
    "a matrix product": lambda lib, a: a.outer(a) @ a,
    "a list": lambda lib, a: lib.cat([a, a * a]) ** 3,
    "a write": lambda lib, a: (a * 1).mul_(a),
    "a write that saves its result": lambda lib, a: (a * a).exp_() * a,
    "a write with a number": lambda lib, a: (a * a).sub_(a).pow_(3),
    "two formulas that read the same": lambda lib, a: lib.addcmul(a, a, a),
    "a module's function": lambda lib, a: lib.nn.functional.linear(a, a.outer(a), a),
    "a norm of layers": lambda lib, a: lib.nn.functional.layer_norm(a * a, (2,)),
}


def rounded(value: Any) -> Any:
    if isinstance(value, list):
        return tuple([rounded(each) for each in value])
    return float(f"{value:.3g}") if isinstance(value, float) else value


class Watched:
    """A program with hooks that double what they pack, and the counts of what they saw."""

    def __init__(self, lib: Any) -> None:
        self.lib = lib
        self.seen: Counter[Any] = Counter()
        self.leaf = lib.tensor([1.0, 2.0], requires_grad=True)

    def pack(self, tensor: Any) -> Any:
        about = tensor.requires_grad, tensor.is_leaf, self.lib.is_grad_enabled()
        self.seen["pack", rounded(tensor.tolist()), *about] += 1
        return tensor * 2

    def unpack(self, tensor: Any) -> Any:
        self.seen["unpack", rounded(tensor.tolist()), self.lib.is_grad_enabled()] += 1
        return tensor

    def hooks(self) -> Any:
        return self.lib.autograd.graph.saved_tensors_hooks(self.pack, self.unpack)

    def outcome(self, *gradients: Any) -> Any:
        return [rounded(each.tolist()) for each in gradients], self.seen


def once(lib: Any, operation: Operation) -> Any:
    run = Watched(lib)
    with run.hooks():
        result = operation(lib, run.leaf)
    result.sum().backward()
    return run.outcome(run.leaf.grad)


def twice(lib: Any, operation: Operation, *, forward: bool, backward: bool) -> Any:
    run = Watched(lib)
    with run.hooks():
        watched = operation(lib, run.leaf)
    result = watched if forward else operation(lib, run.leaf)
    if not forward:
        run.seen.clear()
    if backward:
        with run.hooks():
            (first,) = lib.autograd.grad(result.sum(), run.leaf, create_graph=True)
    else:
        (first,) = lib.autograd.grad(result.sum(), run.leaf, create_graph=True)
    if not first.requires_grad:
        return run.outcome(first)
    first.sum().backward()
    return run.outcome(first, run.leaf.grad)


@pytest.mark.parametrize("name", OPERATIONS)
def test_hooks_see_and_replace_the_same_tensors(name: str) -> None:
    operation = OPERATIONS[name]
    assert_same(lambda lib: once(lib, operation))


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("backward", [True, False])
@pytest.mark.parametrize("name", OPERATIONS)
def test_hooks_see_and_replace_the_same_tensors_when_a_backward_is_recorded(
    name: str, forward: bool, backward: bool
) -> None:
    operation = OPERATIONS[name]
    assert_same(lambda lib: twice(lib, operation, forward=forward, backward=backward))


PROGRAMS = Programs()


@PROGRAMS("what is saved of a Function")
def of_function(lib: Any) -> Any:
    class Product(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            between, result = x * 2, x * y
            ctx.save_for_backward(x, y, between, result, None)
            return result

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            x, y, _, result, _ = ctx.saved_tensors
            return grad * y, grad * x + result

    run = Watched(lib)
    with run.hooks():
        result = Product.apply(run.leaf * 1, run.leaf)
    saved = [
        each if each is None else (each.requires_grad, each.is_leaf, each.tolist())
        for each in result.grad_fn.saved_tensors
    ]
    result.sum().backward()
    return saved, run.outcome(run.leaf.grad)


@PROGRAMS("the gradient of an unpacked leaf goes to the leaf")
def of_leaf(lib: Any) -> Any:
    run = Watched(lib)
    with run.hooks():
        result = run.leaf * run.leaf
    unpacked = result.grad_fn._saved_self
    (unpacked * 3).sum().backward()
    return unpacked.is_leaf, unpacked is run.leaf, unpacked.grad, run.outcome(run.leaf.grad)


@PROGRAMS("an unpacked leaf keeps the accumulator of a leaf that is gone")
def of_lost_leaf(lib: Any) -> Any:
    run = Watched(lib)
    with run.hooks():
        result = run.leaf * run.leaf
    node = result.grad_fn
    accumulator = node.next_functions[0][0]
    del run.leaf, result
    (node._saved_self * 3).sum().backward()
    return accumulator.variable.grad.tolist()


@PROGRAMS("hooks of one saved value")
def of_one_value(lib: Any) -> Any:
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    seen = []
    result = (x * 1).exp()
    result.grad_fn._raw_saved_result.register_hooks(
        lambda t: (seen.append((t.requires_grad, t.is_leaf)), t)[1], lambda t: t * 2
    )
    result.sum().backward()
    product = (x * 1) * (x * 2)
    product.grad_fn._raw_saved_other.register_hooks(
        lambda t: (seen.append((t.requires_grad, t.is_leaf)), t)[1], lambda t: t * 0
    )
    gradient = lib.autograd.grad(product.sum(), x)[0]
    return seen, [round(each, 3) for each in x.grad.tolist()], gradient.tolist()


@PROGRAMS("only the innermost of nested hooks")
def nested(lib: Any) -> Any:
    outer, inner = Watched(lib), Watched(lib)
    x = outer.leaf
    with outer.hooks():
        with inner.hooks():
            y = x * x
        z = y * y
        z.sum().backward()
    return outer.outcome(x.grad), inner.seen


@PROGRAMS("hooks are refused inside and outside")
def refused(lib: Any) -> Any:
    graph = lib.autograd.graph
    run = Watched(lib)

    def inside() -> None:
        with run.hooks(), graph.disable_saved_tensors_hooks("not inside"):
            run.leaf * run.leaf

    def outside() -> None:
        with graph.disable_saved_tensors_hooks("not outside"), run.hooks():
            run.leaf * run.leaf

    decorated = graph.disable_saved_tensors_hooks("not here")(lambda: run.hooks().__enter__())
    after = (run.leaf * run.leaf).sum()
    return tried(inside), tried(outside), tried(decorated), tried(after.backward), run.seen


@PROGRAMS("hooks that an unpack hook enables last until the end of the backward")
def enabled_by_a_hook(lib: Any) -> Any:
    packed: list[str] = []
    hooks = lib.autograd.graph.saved_tensors_hooks
    more = hooks(lambda t: packed.append("more") or t, lambda t: t)

    def unpack(tensor: Any) -> Any:
        more.__enter__()
        return tensor

    x = lib.ones(3, requires_grad=True)
    with hooks(lambda t: packed.append("outer") or t, unpack):
        y = x.sin().sum()
    for _ in range(2):
        y.backward(retain_graph=True)
        x.exp()
    return packed, [round(each, 3) for each in x.grad.tolist()]


@PROGRAMS("hooks that an unpack hook leaves are in force again behind the backward")
def left_by_a_hook(lib: Any) -> Any:
    packed: list[str] = []

    def unpack(tensor: Any) -> Any:
        hooks.__exit__(None, None, None)
        return tensor

    hooks = lib.autograd.graph.saved_tensors_hooks(lambda t: packed.append("p") or t, unpack)
    x = lib.ones(3, requires_grad=True)
    with hooks:
        x.sin().sum().backward()
        inside = len(packed)
        x.exp()
    x.exp()
    return inside, packed, [round(each, 3) for each in x.grad.tolist()]


@PROGRAMS("two hooks, of which the outer one is left first")
def left_in_the_other_order(lib: Any) -> Any:
    packed: list[str] = []
    hooks = lib.autograd.graph.saved_tensors_hooks
    outer, inner = (
        hooks(lambda t, name=name: packed.append(name) or t, lambda t: t)
        for name in ("outer", "inner")
    )
    x = lib.ones(3, requires_grad=True)
    outer.__enter__()
    inner.__enter__()
    x.exp()
    outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)
    x.exp()
    return packed


def halved_by_hooks_from_unpacking(lib: Any, call: Operation, create_graph: bool) -> Any:
    """Register a hook of the node that runs, which halves its results, where it unpacks."""
    seen: list[int] = []

    def hook(results: Any, gradients: Any) -> Any:
        seen.append(len(gradients))
        return tuple([each if each is None else each / 2 for each in results])

    def unpack(tensor: Any) -> Any:
        lib._C._current_autograd_node().register_hook(hook)
        return tensor

    x = lib.tensor([1.0, 2.0], requires_grad=True)
    with lib.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        y = call(lib, x).sum()
    (grad,) = lib.autograd.grad(y, x, create_graph=create_graph)
    return [round(each, 4) for each in grad.tolist()], seen


def squared(lib: Any, x: Any) -> Any:
    class Square(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return 2 * ctx.saved_tensors[0] * grad

    return Square.apply(x)


for word, call in {**OPERATIONS, "a Function": squared}.items():
    for ending, keeps in {"": False, ", with a graph": True}.items():
        PROGRAMS[f"{word}, halved where it unpacks{ending}"] = partial(
            halved_by_hooks_from_unpacking, call=call, create_graph=keeps
        )


@pytest.mark.parametrize("name", PROGRAMS)
def test_hooks_on_saved_tensors_do_the_same(name: str) -> None:
    assert_same(PROGRAMS[name])
