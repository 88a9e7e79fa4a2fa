"""Writes to views inside of composed transforms give what PyTorch's give, also on backends whose
arrays cannot be written and have no strides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import dovetail
import dovetail.func

RNG = np.random.default_rng(11)
X, T = (RNG.standard_normal((2, 3)) for _ in range(2))

pytestmark = pytest.mark.filterwarnings(
    "ignore:`torch.jit.script` is deprecated:DeprecationWarning"
)


def item(y: Any) -> Any:
    base = y * 2.0
    base[0] = y[1] * 3
    return base


def product_of_slice(y: Any) -> Any:
    base = y * 2.0
    base[1:].mul_(y[:1])
    return base


def base_below_a_view(y: Any) -> Any:
    base = y * 2.0
    part = base[1:]
    base.mul_(y)
    return part * base[0]


def two_views(y: Any) -> Any:
    base = y * 2.0
    part, column = base[1:], base.view(3, 1)
    part.mul_(y[0])
    column.mul_(y[1])
    return base * part[0]


def zeros_become_dual(y: Any) -> Any:
    base = y.new_zeros(3) * y
    part = base[1:]
    part.copy_(y[:2])
    return base * part[0]


def column_of_zeros(y: Any) -> Any:
    base = y.new_zeros(3, 2) * y[:2]
    part = base.select(1, 1)
    part.copy_(y)
    return base.sum(1)


def view_of_a_view(y: Any) -> Any:
    base = y.new_zeros(3, 2) * y[:2]
    part = base.t()[1]
    part.copy_(y)
    part[1:].mul_(y[0])
    return base.sum(1) * part


def part_of_several(y: Any) -> Any:
    base = y * 1.0
    first, last = base.split([1, 2])
    first.mul_(last[1])
    last.sub_(first)
    base.unbind()[1].mul_(y[0])
    base.view(3, 1).chunk(1, dim=1)[0].mul_(y[2])
    return base.sin()


def parts_by_themselves(y: Any) -> Any:
    """Return what `part_of_several` does, which PyTorch refuses where it records a graph."""
    first = y[0] * y[2]
    parts = [first, (y[1] - first) * y[0], y[2] - first]
    return (torch.stack(parts) * y[2]).sin()


PROGRAMS = (
    *(item, product_of_slice, base_below_a_view, two_views, zeros_become_dual, column_of_zeros),
    *(view_of_a_view, part_of_several),
)

TRANSFORMS: dict[str, Callable[..., Any]] = {
    "jvp": lambda f, g, x, t: f.jvp(g, (x[0],), (t[0],))[1],
    "jvp per sample": lambda f, g, x, t: f.vmap(lambda x, t: f.jvp(g, (x,), (t,))[1])(x, t),
    "jvp of a map": lambda f, g, x, t: f.jvp(f.vmap(g), (x,), (t,))[1],
    "tangents mapped": lambda f, g, x, t: f.vmap(lambda t: f.jvp(g, (x[0],), (t,))[1])(t),
    "gradients per sample": lambda f, g, x, t: f.vmap(f.grad(lambda x: g(x).square().sum()))(x),
    "gradient of a map": lambda f, g, x, t: f.grad(lambda x: f.vmap(g)(x).square().sum())(x),
    "hessian": lambda f, g, x, t: f.hessian(lambda x: g(x).square().sum())(x[0]),
    "hessian per sample": lambda f, g, x, t: f.vmap(f.hessian(lambda x: g(x).square().sum()))(x),
    "reverse twice per sample": lambda f, g, x, t: f.vmap(
        f.jacrev(f.jacrev(lambda x: g(x).square().sum()))
    )(x),
    "forward twice per sample": lambda f, g, x, t: f.vmap(
        f.jacfwd(f.jacfwd(lambda x: g(x).square().sum()))
    )(x),
    "reverse over forward per sample": lambda f, g, x, t: f.vmap(
        f.jacrev(f.jacfwd(lambda x: g(x).square().sum()))
    )(x),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_write_to_a_view_is_transformed_as_in_pytorch(program: Any, transform: str) -> None:
    run = TRANSFORMS[transform]
    if program is part_of_several and not transform.startswith(("jvp", "tangents", "forward")):
        with pytest.raises(RuntimeError, match="function that returns multiple views"):
            run(dovetail.func, program, *map(dovetail.tensor, (X, T)))
        return
    # PyTorch refuses to write to a tangent of zeros.
    name = transform.replace("forward twice", "hessian")
    theirs = parts_by_themselves if program is part_of_several else program
    expected = TRANSFORMS[name](torch.func, theirs, *map(torch.tensor, (X, T)))
    found = run(dovetail.func, program, *map(dovetail.tensor, (X, T)))
    np.testing.assert_allclose(found.cpu().numpy(), expected.numpy(), rtol=1e-9, atol=1e-12)


WRITES: dict[str, Callable[..., Any]] = {
    "add_": lambda part, s: part.add_(s),
    "mul_": lambda part, s: part.mul_(s),
    "copy_": lambda part, s: part.copy_(s),
    "twice": lambda part, s: part.mul_(s).add_(s * s),
}
VIEWS: dict[str, Callable[[Any], Any]] = {
    "flat": lambda base: base.view(-1),
    "row": lambda base: base[0],
    "part": lambda base: base.view(-1)[1:],
    "transposed": lambda base: base.t(),
}


@pytest.mark.parametrize("nesting", ["jy gx", "gy gx", "jy jy gx", "jy gy gx", "gx jy gx"])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("write", WRITES)
def test_a_base_that_becomes_dual_by_a_write_to_a_view_keeps_its_graph(
    write: str, view: str, nesting: str
) -> None:
    found, expected = (
        _of_two(lib, VIEWS[view], WRITES[write], nesting) for lib in (dovetail, torch)
    )
    assert expected.any()
    np.testing.assert_allclose(found.cpu().numpy(), expected.numpy(), rtol=1e-9, atol=1e-12)


def _of_two(lib: Any, view: Any, write: Any, nesting: str) -> Any:
    """Return a derivative by `x`, which the base is made of, and `y`, which is written."""
    x, y, along = lib.tensor(X), lib.tensor(T[0]), lib.tensor(X[1])

    def function(x: Any, y: Any) -> Any:
        base = x * x
        other = base[..., :1]
        part = view(base)
        write(part, y.prod())
        return (base**3).sum() + (part**2).sum() + other.sin().sum() + x.sin().sum() * y.sum()

    levels: dict[str, Any] = {
        "gx": lib.func.grad,
        "gy": lambda f: lib.func.grad(f, 1),
        "jy": lambda f: lambda x, y: lib.func.jvp(lambda y: f(x, y), (y,), (along,))[1],
    }
    for name in reversed(nesting.split()):
        inner = function
        function = levels[name](lambda x, y, inner=inner: inner(x, y).sin().sum())
    return function(x, y)


@pytest.mark.parametrize("view", VIEWS)
def test_a_function_that_writes_a_tangent_to_a_view_keeps_the_graph(view: str) -> None:
    class Scale(dovetail.autograd.Function):
        @staticmethod
        def forward(x: Any, factor: Any) -> Any:
            return x.mul_(factor)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.mark_dirty(inputs[0])
            ctx.save_for_backward(inputs[1])
            ctx.save_for_forward(inputs[1], output)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * ctx.saved_tensors[0], None

        @staticmethod
        def jvp(ctx: Any, tangent: Any, along: Any) -> Any:
            factor, output = ctx.saved_tensors
            constant = output / factor * along
            return constant if tangent is None else constant + tangent * factor

    found = _of_two(dovetail, VIEWS[view], Scale.apply, "jy gx")
    expected = _of_two(torch, VIEWS[view], WRITES["mul_"], "jy gx")
    np.testing.assert_allclose(found.cpu().numpy(), expected.numpy(), rtol=1e-9, atol=1e-12)


QUIET_WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "sin_": lambda part, x: part.sin_(),
    "mul_": lambda part, x: part.mul_(x.sum()),
    "copy_": lambda part, x: part.copy_(x.sum()),
    "fill_": lambda part, x: part.fill_(2.0),
    "add_": lambda part, x: part.add_(3.0),
}


@pytest.mark.parametrize("write", QUIET_WRITES)
@pytest.mark.parametrize("nest", ["gj", "jg", "gg", "jj", "gjj", "jgj", "gjg", "ggj"])
def test_writes_in_no_grad_mode_have_the_derivatives_of_pytorch(nest: str, write: str) -> None:
    """A tangent that is written in no_grad mode keeps its place in the graph, as the primal does,
    whether a view was made of it or not.
    """

    def derivative(lib: Any, view: Callable[[Any], Any], factor: Callable[[Any], Any]) -> Any:
        start, along, weights = (lib.tensor(RNG_VALUES[i]) for i in range(3))

        def function(x: Any) -> Any:
            base = x * factor(x)
            part = view(base)
            with lib.no_grad():
                QUIET_WRITES[write](part, x)
            return (base * base.sin()).sum() + (part**3).sum()

        for kind in reversed(nest):
            function = (_pushed if kind == "j" else _pulled)(lib, function, along, weights)
        return function(start).item()

    for view in (lambda base: base, lambda base: base.reshape(-1), lambda base: base[0]):
        for factor in (lambda x: x, lambda x: 1.0):
            found, expected = (derivative(lib, view, factor) for lib in (dovetail, torch))
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


RNG_VALUES = RNG.uniform(-1, 1, (3, 2, 3))


def _pushed(lib: Any, function: Any, along: Any, weights: Any) -> Any:
    return lambda x: lib.func.jvp(function, (x,), (along,))[1]


def _pulled(lib: Any, function: Any, along: Any, weights: Any) -> Any:
    return lambda x: (lib.func.grad(function)(x) * weights).sum()


@pytest.mark.parametrize("inside", ["grad", "jvp"])
def test_views_of_entries_that_are_mapped_in_another_dimension_are_written(inside: str) -> None:
    def derivative(lib: Any) -> Any:
        def function(x: Any) -> Any:
            base = x.clone().unsqueeze(0)
            base[0].mul_(base.sum())
            base[0, 1:].sin_()
            return (base * base).sum()

        of = lib.func.grad(function)
        if inside == "jvp":
            of = lambda x: lib.func.jvp(function, (x,), (x.cos(),))[1]  # noqa: E731
        return lib.func.vmap(of, in_dims=1)(lib.tensor(X))

    found, expected = derivative(dovetail), derivative(torch)
    np.testing.assert_allclose(found.cpu().numpy(), expected.numpy(), rtol=1e-9, atol=1e-12)
