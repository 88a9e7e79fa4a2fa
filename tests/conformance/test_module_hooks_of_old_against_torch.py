"""Backward hooks of old, on the last node of a module, hear and change what they do in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from same_programs import Programs, assert_same

programs = Programs()


def module(lib: Any, forward: Callable[..., Any]) -> Any:
    class Own(lib.nn.Module):  # type: ignore[misc]
        def forward(self, *args: Any) -> Any:
            return forward(*args)

    return Own()


def shown(grads: Any) -> Any:
    return [None if each is None else each.tolist() for each in grads]


def heard(
    lib: Any,
    forward: Callable[..., Any],
    inputs: str,
    loss: Callable[[Any], Any] = lambda out: out.sum(),
    answer: Callable[[Any], Any] = lambda grads: None,
) -> Any:
    """Return what a hook hears of a call, and the gradients; `inputs` says of each argument: g
    requires grad, n is a number, m was made by an operator.
    """
    calls: list[Any] = []

    def hook(module: Any, grad_input: Any, grad_output: Any) -> Any:
        calls.append((type(module).__name__, shown(grad_input), shown(grad_output)))
        return answer(grad_input)

    leaves = [lib.ones(2, requires_grad=True) for _ in inputs]
    values = {"g": lambda x: x, "n": lambda x: 2, "m": lambda x: x * 1}
    own = module(lib, forward)
    own.register_backward_hook(hook)
    result = own(*[values[kind](x) for kind, x in zip(inputs, leaves, strict=True)])
    loss(result).backward()
    return calls, [x.grad is not None and x.grad.tolist() for x in leaves]


CASES: dict[str, tuple[Any, ...]] = {
    "one operator": (lambda x: x * 2, "g"),
    "one operator on inner inputs": (lambda x, y: x * y, "mm"),
    "two operators": (lambda x: (x * 2) * 3, "g"),
    "two inputs": (lambda x, y: x * y, "gg"),
    "no operator": (lambda x: x, "g"),
    "no operator on an inner input": (lambda x: x, "m"),
    "a number among the inputs": (lambda x, n: x * n, "gn"),
    "a tuple": (lambda x: (x * 2, x * 3), "g", lambda out: (out[0] + out[1]).sum()),
    "a list": (lambda x: [x * 2, x * 3], "g", lambda out: (out[0] + out[1]).sum()),
    "a dict": (lambda x: {"b": x * 2, "a": x * 3}, "g", lambda o: (o["a"] + o["b"]).sum()),
    "a nested tuple": (lambda x: ((x * 2,),), "g", lambda out: out[0][0].sum()),
    "a tensor and a number": (lambda x: (x * 2, 1), "g", lambda out: out[0].sum()),
    "one node with two results": (lambda x: x.max(0), "m", lambda out: out[0].sum()),
    "other gradients": (
        lambda x, y: x * y,
        "mm",
        lambda out: out.sum(),
        lambda grads: tuple(each * 10 for each in grads),
    ),
    "too many gradients": (
        lambda x, y: x * y,
        "mm",
        lambda out: out.sum(),
        lambda grads: grads + grads,
    ),
    "no tuple": (lambda x, y: x * y, "mm", lambda out: out.sum(), lambda grads: grads[0]),
    "no tensor": (lambda x: 3, "g"),
    "None first": (lambda x: (None, x * 2), "g"),
}
for name, case in CASES.items():
    programs(name)(lambda lib, case=case: heard(lib, *case))


@programs("removed")
def _(lib: Any) -> Any:
    own, calls = module(lib, lambda x, y: x * y), []
    handles = [own.register_backward_hook(lambda *args, n=n: calls.append(n)) for n in (1, 2)]
    handles[0].remove()
    x = lib.ones(2, requires_grad=True) * 1
    own(x, x * 1).sum().backward()
    return calls


@programs("beside a full one")
def _(lib: Any) -> Any:
    own = module(lib, lambda x: x)
    own.register_full_backward_hook(lambda *args: None)
    own.register_backward_hook(lambda *args: None)


@programs("a full one beside it")
def _(lib: Any) -> Any:
    own = module(lib, lambda x: x)
    own.register_backward_hook(lambda *args: None)
    own.register_full_backward_hook(lambda *args: None)


@programs("beside a full pre hook")
def _(lib: Any) -> Any:
    own = module(lib, lambda x: x)
    own.register_backward_hook(lambda *args: None)
    own.register_full_backward_pre_hook(lambda *args: None)


@programs("of any module")
def _(lib: Any) -> Any:
    paths = import_module(f"{lib.__name__}.nn.modules.module")
    calls: list[str] = []
    handle = paths.register_module_backward_hook(lambda *args: calls.append("any"))
    try:
        own = module(lib, lambda x, y: x * y)
        own.register_backward_hook(lambda *args: calls.append("own"))
        x = lib.ones(2, requires_grad=True)
        own(x * 1, x * 2).sum().backward()
        paths.register_module_full_backward_hook(lambda *args: None)
    except RuntimeError as error:
        return calls, str(error)
    finally:
        handle.remove()
        paths._global_is_full_backward_hook = None  # PyTorch would refuse full ones from now on


@pytest.mark.parametrize("name", programs)
def test_a_hook_of_old_does_what_it_does_in_pytorch(name: str) -> None:
    words = 0 if name in ("no tensor", "None first") else 40
    assert_same(programs[name], words=words, warns=True)


def test_after_removal_full_hooks_are_taken_again_which_pytorch_refuses() -> None:
    import torch

    import dovetail

    for lib in (dovetail, torch):
        own = module(lib, lambda x: x)
        own.register_backward_hook(lambda *args: None).remove()
        if lib is dovetail:
            own.register_full_backward_hook(lambda *args: None)
            continue
        with pytest.raises(RuntimeError, match="Cannot use both"):
            own.register_full_backward_hook(lambda *args: None)
