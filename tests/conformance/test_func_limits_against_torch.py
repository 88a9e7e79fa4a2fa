"""What functions inside of `func.grad`, `vmap` and their kin may not do, and what they may, as in
PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from same_programs import assert_same, tried

import dovetail

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")

TRANSFORMS: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda lib, f: lib.func.grad(f)(lib.ones(2)),
    "vjp": lambda lib, f: lib.func.vjp(f, lib.ones(2))[1](lib.ones(()))[0],
    "jvp": lambda lib, f: lib.func.jvp(f, (lib.ones(2),), (lib.ones(2),))[1],
    "vmap": lambda lib, f: lib.func.vmap(f)(lib.ones(3, 2)),
    "jacrev": lambda lib, f: lib.func.jacrev(f)(lib.ones(2)),
    "jacfwd": lambda lib, f: lib.func.jacfwd(f)(lib.ones(2)),
    "hessian": lambda lib, f: lib.func.hessian(f)(lib.ones(2)),
    "vmap of grad": lambda lib, f: lib.func.vmap(lib.func.grad(f))(lib.ones(3, 2)),
}


def keeps_gradient(lib: Any, x: Any) -> Any:
    y = x * 2
    y.retain_grad()
    return y.sum()


def packs_inside(lib: Any, x: Any) -> Any:
    with lib.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        return (x * x).sum()


def refuses_inside(lib: Any, x: Any) -> Any:
    with lib.autograd.graph.disable_saved_tensors_hooks("not here"):
        return (x * x).sum()


def makes_a_leaf(lib: Any, x: Any) -> Any:
    return (lib.ones(2, requires_grad=True) * x).sum()


def watches_gradient(lib: Any, x: Any) -> Any:
    y = x * 2
    if y.requires_grad:
        y.register_hook(lambda grad: grad * 2)
    return (y * y).sum()


def fills_a_buffer(lib: Any, x: Any) -> Any:
    y = lib.zeros_like(x)
    y.copy_(x * x)
    return (y * y).sum()


FUNCTIONS = {
    each.__name__: each
    for each in (
        keeps_gradient,
        packs_inside,
        refuses_inside,
        makes_a_leaf,
        watches_gradient,
        fills_a_buffer,
    )
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_may_do_the_same(transform: str, function: str) -> None:
    assert_same(
        lambda lib: tried(
            lambda: TRANSFORMS[transform](lib, lambda x: FUNCTIONS[function](lib, x)), words=45
        )
    )


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_saved_tensor_hooks_around_a_transform_are_refused_alike(transform: str) -> None:
    def program(lib: Any) -> Any:
        with lib.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            first = tried(lambda: TRANSFORMS[transform](lib, lambda x: (x * x).sum()))
        return first, tried(lambda: TRANSFORMS[transform](lib, lambda x: packs_inside(lib, x)))

    assert_same(program)


AUX: dict[str, Callable[[Any, Any, Any], Any]] = {
    "grad": lambda lib, f, x: lib.func.grad(f, has_aux=True)(x)[1],
    "grad_and_value": lambda lib, f, x: lib.func.grad_and_value(f, has_aux=True)(x)[1][1],
    "vjp": lambda lib, f, x: lib.func.vjp(f, x, has_aux=True)[2],
    "jvp": lambda lib, f, x: lib.func.jvp(f, (x,), (x,), has_aux=True)[2],
    "jacrev": lambda lib, f, x: lib.func.jacrev(f, has_aux=True)(x)[1],
    "jacfwd": lambda lib, f, x: lib.func.jacfwd(f, has_aux=True)(x)[1],
}


@pytest.mark.parametrize("transform", AUX)
@pytest.mark.parametrize("aux", [5, "text", None, [1], [], ()], ids=repr)
def test_an_auxiliary_output_is_made_of_tensors(transform: str, aux: Any) -> None:
    assert_same(
        lambda lib: tried(
            lambda: AUX[transform](lib, lambda x: ((x * x).sum(), aux), lib.ones(2)), words=36
        )
    )


@pytest.mark.parametrize("write", ["x[0] = 1", "x[:].add_(1)", "x.detach().add_(1)", "x.add_(1)"])
def test_functionalize_refuses_writes_that_it_cannot_follow(write: str) -> None:
    captured = dovetail.zeros(2)

    def function(given: Any) -> Any:
        exec(write, {"x": captured})
        return given * 2

    with pytest.raises(RuntimeError, match="which is neither an argument of the function nor made"):
        dovetail.func.functionalize(function)(dovetail.ones(2))
    assert captured.tolist() == [0.0, 0.0]


EMBEDDINGS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "samples of indices": lambda lib, f, i: lib.func.vmap(lambda i: f(i, lib.ones(4, 2)))(i),
    "the gradient of one": lambda lib, f, i: lib.func.vmap(
        lib.func.grad(lambda w, i: f(i, w).sum()), in_dims=(None, 0)
    )(lib.ones(4, 2), i),
    "the gradient of all": lambda lib, f, i: lib.func.grad(
        lambda w: lib.func.vmap(lambda i: f(i, w))(i).sum()
    )(lib.ones(4, 2)),
    "tables": lambda lib, f, i: lib.func.vmap(f, in_dims=(None, 0))(i, lib.ones(3, 4, 2)),
    "the gradient of tables": lambda lib, f, i: lib.func.grad(
        lambda w: lib.func.vmap(f, in_dims=(None, 0))(i, w).sum()
    )(lib.ones(3, 4, 2)),
}


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_padding_has_no_gradient_under_vmap(name: str) -> None:
    def program(lib: Any) -> Any:
        def embed(indices: Any, weight: Any) -> Any:
            return lib.nn.functional.embedding(indices, weight, padding_idx=1)

        return EMBEDDINGS[name](lib, embed, lib.tensor([[0, 1], [1, 2]])).tolist()

    assert_same(program)


def test_padding_has_no_gradient_in_any_of_several_tables() -> None:
    """PyTorch's has one there."""

    def embed(indices: Any, weight: Any) -> Any:
        return dovetail.nn.functional.embedding(indices, weight, padding_idx=1)

    indices = dovetail.tensor([[0, 1], [1, 2]])
    gradient = dovetail.func.grad(lambda w: dovetail.func.vmap(embed)(indices, w).sum())(
        dovetail.ones(2, 4, 1)
    )
    assert gradient.squeeze().tolist() == [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]


@pytest.mark.parametrize("shape", [(), (1,), (2,), (2, 3)], ids=str)
@pytest.mark.parametrize("mask", [(), (3,), (2, 3)], ids=str)
@pytest.mark.parametrize("chosen", [True, False])
def test_batched_gradients_of_masked_select(shape: Any, mask: Any, chosen: bool) -> None:
    if shape == (2,) and mask:
        shape = (2, 1)

    def program(lib: Any) -> Any:
        x = lib.ones(shape, requires_grad=True)
        y = lib.masked_select(x, lib.full(mask, chosen))
        seeds = lib.arange(2.0 * y.numel()).reshape(2, -1)
        return lib.autograd.grad(y, x, seeds, is_grads_batched=True)[0].tolist()

    assert_same(program)


def unwrapped_shapes(lib: Any) -> list[tuple[int, ...]]:
    found = []

    def note(x: Any) -> Any:
        for recurse in (True, False):
            found.append(tuple(lib.func.debug_unwrap(x, recurse=recurse).shape))
        return (x * x).sum()

    x = lib.ones(4, 2, 3)
    lib.func.vmap(lib.func.vmap(note))(x)
    lib.func.jvp(note, (x,), (x,))
    lib.func.vmap(lambda y: lib.func.jvp(note, (y,), (y,)))(x)
    note(x)
    return found


def test_a_debugger_sees_what_a_transform_works_on() -> None:
    import torch

    assert unwrapped_shapes(dovetail) == unwrapped_shapes(torch)
    for lib in (dovetail, torch):
        with pytest.raises(TypeError):
            lib.func.debug_unwrap(3)
