"""Saved tensors that are detached or written before backward reads them, and the block that
allows it, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from same_programs import Programs, assert_same


def leaf(lib: Any) -> Any:
    return lib.ones(2, requires_grad=True)


def saved_and_detached(lib: Any, create_graph: bool) -> Any:
    x = leaf(lib)
    y = x * 2
    z = (y * y).sum()
    y.detach_()
    return lib.autograd.grad(z, x, create_graph=create_graph)[0].tolist()


def saved_after_detach(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    y.detach_().requires_grad_()
    z = (y * y * x).sum()
    z.backward()
    return y.grad.tolist(), x.grad.tolist(), y._version


def written_after_detach(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    y.detach_()
    y.add_(1)
    z = (x * y).sum()
    version = y._version
    y.detach()[0] = 5
    z.backward()
    return version


def logarithm_of_what_was_detached(lib: Any) -> Any:
    x = lib.ones(2, requires_grad=True)
    y = x * 2
    z = y.log()
    y.detach_()
    (grad,) = lib.autograd.grad(z.sum(), x, create_graph=True)
    return grad


PROGRAMS = Programs(
    {
        "a saved tensor detached in place": lambda lib: saved_and_detached(lib, False),
        "a saved tensor detached in place, with create_graph": lambda lib: saved_and_detached(
            lib, True
        ),
        "saved after it was detached in place": saved_after_detach,
        "written after it was detached in place": written_after_detach,
        "a saved tensor must not have been detached": logarithm_of_what_was_detached,
    }
)


def written(
    lib: Any, write: Callable[[Any], object], *, inside: bool = True, clear: bool = False
) -> Any:
    x = leaf(lib)
    y = x * 2
    with lib.autograd.graph.allow_mutation_on_saved_tensors() as context:
        z = (y * y).sum()
        write(y)
        if clear:
            context.clear()
        if inside:
            z.backward()
    if not inside:
        z.backward()
    return x.grad.tolist()


def written_result(lib: Any) -> Any:
    x = leaf(lib)
    with lib.autograd.graph.allow_mutation_on_saved_tensors():
        y = (x * 2).exp()
        z = y.sin().sum()
        y.zero_()
        z.backward()
    return [round(value, 3) for value in x.grad.tolist()]


def written_and_differentiated_twice(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    with lib.autograd.graph.allow_mutation_on_saved_tensors():
        z = (y * y).sum()
        y.mul_(3)
        (first,) = lib.autograd.grad(z, x, create_graph=True)
        return first.tolist(), lib.autograd.grad(first.sum(), x)[0].tolist()


def what_the_context_holds(lib: Any) -> Any:
    x = leaf(lib)
    seen = []
    with lib.autograd.graph.allow_mutation_on_saved_tensors() as context:

        def note() -> None:
            names = ("original", "cloned", "tid_to_weakhandle")
            seen.append([len(getattr(context, name)) for name in names])

        y = x * 2
        z = y * y
        note()
        y.sin_()
        note()
        z.sum().backward()
        note()
    note()
    return seen, x.grad.tolist()


def allowed_twice(lib: Any) -> None:
    allow = lib.autograd.graph.allow_mutation_on_saved_tensors
    with allow(), allow():
        pass


WRITES: dict[str, Callable[[Any], Any]] = {
    "a write": lambda lib: written(lib, lambda y: y.mul_(3)),
    "a write to a view": lambda lib: written(lib, lambda y: y[0].mul_(3)),
    "no write": lambda lib: written(lib, lambda y: None),
    "backward outside": lambda lib: written(lib, lambda y: y.mul_(3), inside=False),
    "backward after clear": lambda lib: written(lib, lambda y: y.mul_(3), clear=True),
    "a saved result": written_result,
    "two derivatives": written_and_differentiated_twice,
    "what the context holds": what_the_context_holds,
    "inside another one": allowed_twice,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_gives_the_same_in_torch(name: str) -> None:
    assert_same(PROGRAMS[name], words=35, warns=True)


@pytest.mark.parametrize("name", WRITES)
def test_saved_tensors_may_be_written_where_that_is_allowed(name: str) -> None:
    assert_same(WRITES[name], words=35, warns=True)
