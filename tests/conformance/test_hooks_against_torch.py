"""Hooks of tensors and nodes where no gradient comes, found by random programs, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from same_programs import Programs, assert_same

PROGRAMS = Programs()


def without_gradient(lib: Any, x: Any, y: Any) -> Any:
    """Return a product whose gradient with respect to `x` is None."""

    class Second(lib.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x * y

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return None, grad

    return Second.apply(x, y)


def shown(grads: Any) -> Any:
    if isinstance(grads, (tuple, list)):
        return [shown(each) for each in grads]
    return grads.tolist() if hasattr(grads, "tolist") else grads


def heard(lib: Any, listen: Callable[[Any, Any, Any, list[Any]], Any], *, asked_for: bool) -> Any:
    """Return what the hooks that `listen` puts on two leaves and their product hear, and the
    gradients.
    """
    x, y = (lib.ones(2, requires_grad=True) for _ in range(2))
    calls: list[Any] = []
    z = without_gradient(lib, x, y)
    kept = listen(x, y, z, calls)
    grads = (
        lib.autograd.grad(z.sum(), [x, y], allow_unused=True) if asked_for else z.sum().backward()
    )
    del kept
    return shown(calls), shown(grads), shown(x.grad), shown(y.grad)


LISTENERS: dict[str, Callable[[Any], Callable[[Any, Any, Any, list[Any]], Any]]] = {
    "a tensor hook": lambda lib: lambda x, y, z, calls: x.register_hook(calls.append),
    "a post-accumulate hook": lambda lib: (
        lambda x, y, z, calls: x.register_post_accumulate_grad_hook(
            lambda leaf: calls.append(leaf.grad)
        )
    ),
    "a hook of both leaves": lambda lib: (
        lambda x, y, z, calls: lib.autograd.graph.register_multi_grad_hook(
            (x, y), lambda grads: calls.append(list(grads))
        )
    ),
    "a hook of any leaf": lambda lib: (
        lambda x, y, z, calls: lib.autograd.graph.register_multi_grad_hook(
            (x, y), calls.append, mode="any"
        )
    ),
    "hooks of the accumulator": lambda lib: (
        lambda x, y, z, calls: (
            (node := z.grad_fn.next_functions[0][0]),
            node.register_prehook(lambda grads: calls.append(("before", grads))),
            node.register_hook(lambda inputs, outputs: calls.append(("after", inputs, outputs))),
        )
    ),
    "a tensor hook that makes one": lambda lib: (
        lambda x, y, z, calls: x.register_hook(lambda grad: lib.ones(2))
    ),
    "a node hook that makes one": lambda lib: (
        lambda x, y, z, calls: z.grad_fn.register_hook(
            lambda inputs, outputs: (lib.ones(2), inputs[1])
        )
    ),
    "a node pre-hook that makes one": lambda lib: (
        lambda x, y, z, calls: (
            (node := z.grad_fn.next_functions[0][0]),
            node.register_prehook(lambda grads: (lib.ones(2),)),
        )
    ),
}
PROGRAMS |= {
    f"{name} where no gradient comes, {'asked for' if asked_for else 'accumulating'}": (
        lambda lib, listen=listen, asked_for=asked_for: heard(lib, listen(lib), asked_for=asked_for)
    )
    for name, listen in LISTENERS.items()
    for asked_for in (False, True)
    # PyTorch cannot tell a hook of several leaves which of them a call of grad reaches.
    if not (asked_for and name == "a hook of both leaves")
}


@PROGRAMS("a tensor hook of an inner tensor that makes a gradient of none")
def _(lib: Any) -> Any:
    x, y = (lib.ones(2, requires_grad=True) for _ in range(2))
    z = x * 2
    z.register_hook(lambda grad: lib.ones(2))
    without_gradient(lib, z, y).sum().backward()
    return shown(x.grad)


@PROGRAMS("hooks of a leaf where no gradient comes while the backward is recorded")
def _(lib: Any) -> Any:
    x, y = (lib.ones(2, requires_grad=True) for _ in range(2))
    calls: list[Any] = []
    x.register_hook(calls.append)
    x.register_post_accumulate_grad_hook(lambda leaf: calls.append(leaf.grad))
    without_gradient(lib, x, y).sum().backward(create_graph=True)
    return calls


def node_hook_answers(lib: Any, place: str, answer: Any) -> Any:
    x = lib.ones(2, requires_grad=True)
    y = x * 5
    node = y.grad_fn.next_functions[0][0] if place == "leaf" else y.grad_fn
    if place == "after":
        node.register_hook(lambda made, given: answer(made))
    else:
        node.register_prehook(answer)
    y.sum().backward()
    return shown(x.grad)


def post_accumulate_answers(lib: Any, answer: Any) -> Any:
    x = lib.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(answer)
    (x * 2).sum().backward()
    return shown(x.grad)


NODE_ANSWERS: dict[str, Any] = {
    "one tensor": lambda grads: grads[0] * 3,
    "a tuple": lambda grads: tuple(each * 3 for each in grads),
    "a list": lambda grads: [each * 3 for each in grads],
    "a number": lambda grads: 3.0,
    "nothing": lambda grads: None,
    "too many": lambda grads: (*grads, *grads),
    "ints": lambda grads: (1,) * len(grads),
}
LEAF_ANSWERS: dict[str, Any] = {
    "an int": lambda leaf: 3,
    "the leaf": lambda leaf: leaf,
    "its gradient": lambda leaf: leaf.grad,
    "a tuple": lambda leaf: (leaf,),
    "nothing": lambda leaf: None,
}
PROGRAMS |= {
    f"a hook at a node ({place}) returns {name}": partial(
        node_hook_answers, place=place, answer=answer
    )
    for place in ("before", "after", "leaf")
    for name, answer in NODE_ANSWERS.items()
}
PROGRAMS |= {
    f"a hook after accumulation returns {name}": partial(post_accumulate_answers, answer=answer)
    for name, answer in LEAF_ANSWERS.items()
}


@PROGRAMS("module hooks where a second backward comes past the output, or through it")
def second_backward_of_a_module(lib: Any) -> Any:
    seen: list[Any] = []
    for layer in (lib.nn.Sigmoid(), lib.nn.Tanh(), lib.nn.Softmax(-1)):
        layer.register_full_backward_hook(
            lambda module, given, got: seen.append((len(given), len(got)))
        )
        for loss in (lib.sum, lambda output: output.square().sum()):
            x = lib.ones(2, requires_grad=True)
            (slope,) = lib.autograd.grad(loss(layer(x * 0.5)), x, create_graph=True)
            seen.append(lib.autograd.grad(slope.sum(), x)[0].shape == (2,))
    return seen


@pytest.mark.usefixtures("every_warning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_gives_the_same_in_torch(name: str) -> None:
    assert_same(PROGRAMS[name])
