"""A `Function` in each of the 258 nestings of transforms to depth three has the derivatives of the
operators it is made of, and so where samples of a vmap share what it is given.
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
    "vmap of others": lambda f: (
        lambda x: vmap(lambda k: f(x) * k)(dovetail.arange(1.0, 4.0)).sum(0)
    ),
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


class ProductAndSquare(Function):
    """The second result is of the second argument alone."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any, y: Any) -> Any:
        return x * y, y * y

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Any, other: Any) -> Any:
        x, y = ctx.saved_tensors
        return grad * y, grad * x + other * y * 2

    @staticmethod
    def jvp(ctx: Any, x_t: Any, y_t: Any) -> Any:
        x, y = ctx.saved_tensors
        return x_t * y + x * y_t, y_t * y * 2


def _of_operators(x: Any, y: Any) -> Any:
    return x * y, y * y + x * 0


ROWS = dovetail.tensor([[1.0, 2.0], [0.5, 3.0], [2.0, 0.1]], dtype=dovetail.float64)
ROW = dovetail.tensor([0.3, 0.7], dtype=dovetail.float64)

OF_RESULTS: dict[str, Callable[..., Any]] = {
    "the shared one": lambda product, square, x: square,
    "the shared one, weighed": lambda product, square, x: square * x,
    "the shared one, written": lambda product, square, x: square.mul_(x),
    "both": lambda product, square, x: product * square,
}


@pytest.mark.parametrize("name", OF_RESULTS)
def test_a_result_that_samples_share_counts_once_for_each(name: str) -> None:
    def of(call: Any) -> Any:
        def total(y: Any) -> Any:
            return vmap(lambda x: OF_RESULTS[name](*call(x, y), x))(ROWS).pow(2).sum(0)

        return total

    for depth in (1, 2):
        for nesting in itertools.product(STEPS, repeat=depth):
            found, expected = of(ProductAndSquare.apply), of(_of_operators)
            for step in nesting:
                found, expected = STEPS[step](found), STEPS[step](expected)
            assert found(ROW).tolist() == pytest.approx(expected(ROW).tolist(), rel=1e-9), nesting


def test_arguments_by_keyword_are_mapped_and_differentiated() -> None:
    def of(call: Any) -> Any:
        return grad(lambda rows, row: vmap(call)(rows).mul(row).sum(), argnums=(0, 1))(ROWS, ROW)

    found = of(lambda x: ProductAndSquare.apply(ROW, y=x)[0])
    expected = of(lambda x: ROW * x)
    assert [each.tolist() for each in found] == [each.tolist() for each in expected]
    assert (
        vmap(lambda x: ProductAndSquare.apply(ROW, y=x)[1])(ROWS).tolist() == ROWS.square().tolist()
    )


class Ruled(Exponential):
    """Its rule is written for a batch."""

    generate_vmap_rule = False

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any) -> Any:
        assert in_dims == (0,)
        return Ruled.apply(x), 0


def test_a_rule_is_not_asked_about_what_samples_share() -> None:
    def of(call: Any) -> Any:
        def total(y: Any) -> Any:
            inner = grad(lambda each, x: (call(each) * x).sum())
            return vmap(lambda x: inner(y, x))(ROWS).pow(2).sum()

        return grad(total)(ROW).tolist()

    assert of(Ruled.apply) == pytest.approx(of(dovetail.exp), rel=1e-9)
    assert vmap(Ruled.apply)(ROWS).tolist() == ROWS.exp().tolist()


class RandomGradient(Exponential):
    """Draws in its derivatives."""

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * dovetail.rand(2, dtype=dovetail.float64)

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        return tangent * dovetail.rand(2, dtype=dovetail.float64)


@pytest.mark.parametrize("step", ["grad", "jvp"])
def test_derivatives_that_differ_where_results_are_shared_are_refused(step: str) -> None:
    def shared(y: Any) -> Any:
        inner = grad(lambda each, x: (RandomGradient.apply(each) * x).pow(2).sum())
        return vmap(lambda x: inner(y, x), randomness="different")(ROWS).sum(0)

    with pytest.raises(RuntimeError, match="different derivatives"):
        STEPS[step](shared)(ROW)
