"""Operators of third parties inside of transforms, and where they are differentiated that PyTorch
does not differentiate.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from devices import own_key
from same_programs import assert_same

import dovetail

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:There is a performance drop"),
]
SETUP = "In order to use an autograd.Function with functorch transforms"


class Operators:
    """Three operators of one derivative, each registered in another way."""

    def __init__(self, lib: Any) -> None:
        self.lib = lib
        self.library = library = lib.library.Library("transforming", "DEF")
        library.define("registered(Tensor x, Tensor w) -> Tensor")
        library.define("recorded(Tensor x, Tensor w) -> Tensor")
        for name in ("registered", "recorded"):
            library.impl(name, lambda x, w: x.sin() * w, own_key() if lib is dovetail else "CPU")
        lib.library.register_autograd(
            "transforming::registered", self.backward, setup_context=self.setup, lib=library
        )

        class Recorded(lib.autograd.Function):  # type: ignore[misc]
            @staticmethod
            def forward(ctx: Any, x: Any, w: Any) -> Any:
                ctx.save_for_backward(x, w)
                with lib._C._AutoDispatchBelowAutograd():
                    return lib.ops.transforming.recorded(x, w)

            backward = staticmethod(self.backward)

        library.impl("recorded", Recorded.apply, "Autograd")
        self.custom = lib.library.custom_op(
            "transforming::custom",
            lambda x, w: x.sin() * w,
            mutates_args=(),
            schema="(Tensor x, Tensor w) -> Tensor",
        )
        self.custom.register_autograd(self.backward, setup_context=self.setup)

    def setup(self, ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, w = ctx.saved_tensors
        return g * x.cos() * w, g * x.sin()

    def named(self, name: str) -> Any:
        return getattr(self.lib.ops.transforming, name)


@pytest.fixture
def sides() -> Iterator[dict[Any, Operators]]:
    """Return the operators of both libraries."""
    made = {lib: Operators(lib) for lib in (dovetail, torch)}
    yield made
    for side in made.values():
        side.library._destroy()


def leaf(lib: Any) -> Any:
    return lib.tensor([0.5, -1.0, 2.0], dtype=lib.float64, requires_grad=True)


def rows(lib: Any) -> Any:
    return lib.arange(6.0, dtype=lib.float64).reshape(2, 3)


@pytest.mark.parametrize("name", ["registered", "recorded", "custom"])
def test_a_map_over_one_argument_differentiates_the_other(
    name: str, sides: dict[Any, Operators]
) -> None:
    def program(lib: Any) -> Any:
        op, w = sides[lib].named(name), leaf(lib)
        found = [
            lib.func.vmap(call)(rows(lib)) for call in (lambda x: op(x, w), lambda x: op(w, x))
        ]
        grads = [lib.autograd.grad(each.pow(2).sum(), w)[0] for each in found]
        return [each.round(decimals=12).tolist() for each in grads]

    assert_same(program)


@pytest.mark.parametrize("name", ["registered", "custom"])
def test_grad_and_jvp_take_a_registered_derivative(name: str, sides: dict[Any, Operators]) -> None:
    def results(lib: Any) -> Any:
        op, x, w = sides[lib].named(name), rows(lib)[0], leaf(lib).detach()
        yield lambda: lib.func.grad(lambda u: op(u, w).sum())(x)
        yield lambda: lib.func.jvp(lambda u: op(u, w), (x,), (lib.ones_like(x),))[1]

    grad, tangent = results(dovetail)
    x, w = rows(dovetail)[0], leaf(dovetail).detach()
    assert grad().allclose(x.cos() * w)
    assert tangent().allclose(x.cos() * w)
    grad, tangent = results(torch)
    with pytest.raises(RuntimeError, match=SETUP):
        grad()
    assert tangent().tolist() == [0.0, 0.0, 0.0]


@pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node:UserWarning")
def test_linearize_in_inference_mode() -> None:
    def tangent(lib: Any) -> Any:
        x = rows(lib)[1]
        with lib.inference_mode():
            return lib.func.linearize(lambda u: u * u, x)[1](lib.ones(3).double()).tolist()

    assert tangent(dovetail) == [6.0, 8.0, 10.0]
    assert tangent(torch) == [0.0, 0.0, 0.0]
