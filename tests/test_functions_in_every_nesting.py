"""A `Function` in each of the 155 nestings of transforms to depth three has the derivatives of the
operators it is made of.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import dovetail
from dovetail.autograd import Function
from dovetail.func import grad, jacfwd, jacrev, jvp, vmap


class ScaledSine(Function):
    """Saves its input, keeps a number."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any, scale: float = 2.0) -> Any:
        return x.sin() * scale

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])
        ctx.scale = 2.0

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * ctx.saved_tensors[0].cos() * ctx.scale, None

    @staticmethod
    def jvp(ctx: Any, tangent: Any, _: Any = None) -> Any:
        return tangent * ctx.saved_tensors[0].cos() * ctx.scale


class Exponential(Function):
    """Saves its output."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any) -> Any:
        return x.exp()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * ctx.saved_tensors[0]

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        return tangent * ctx.saved_tensors[0]


class CubeAndItself(Function):
    """Has two results, keeps its input as an attribute."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any) -> Any:
        return x * x * x, x * 1

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.x = inputs[0]

    @staticmethod
    def backward(ctx: Any, grad: Any, other: Any) -> Any:
        return grad * ctx.x * ctx.x * 3 + other

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        return tangent * ctx.x * ctx.x * 3, tangent * 1


Map = Callable[[Any], Any]

FUNCTIONS: dict[str, tuple[Map, Map]] = {
    "by default": (ScaledSine.apply, lambda x: x.sin() * 2),
    "with a number": (lambda x: ScaledSine.apply(x, 2.0), lambda x: x.sin() * 2),
    "that saves its result": (Exponential.apply, lambda x: x.exp()),
    "with two results": (lambda x: sum(CubeAndItself.apply(x)), lambda x: x**3 + x),
    "of another": (lambda x: Exponential.apply(ScaledSine.apply(x)), lambda x: (x.sin() * 2).exp()),
}

STEPS: dict[str, Callable[[Map], Map]] = {
    "jvp": lambda f: lambda x: jvp(f, (x,), (dovetail.ones_like(x),))[1],
    "grad": lambda f: grad(lambda y: f(y).sum()),
    "jacrev": lambda f: lambda x: jacrev(f)(x).reshape(-1, 2).sum(0),
    "jacfwd": lambda f: lambda x: jacfwd(f)(x).reshape(-1, 2).sum(0),
    "vmap": lambda f: lambda x: vmap(f)(dovetail.stack([x, x + 1])).sum(0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_those_of_the_operators(name: str) -> None:
    x = dovetail.tensor([0.3, 0.7], dtype=dovetail.float64)
    for depth in (1, 2, 3):
        for nesting in itertools.product(STEPS, repeat=depth):
            found, expected = FUNCTIONS[name]
            for step in nesting:
                found, expected = STEPS[step](found), STEPS[step](expected)
            assert found(x).tolist() == pytest.approx(expected(x).tolist(), rel=1e-9), nesting
