"""Operators of third parties inside of transforms: all tensors have the gradients that the
operators they are made of give, captured ones too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.autograd import Function
from dovetail.func import grad, hessian, jacfwd, jacrev, jvp, vmap
from dovetail.library import Library, _scoped_library, custom_op, register_autograd
from dovetail_kernel import AutoDispatchBelowAutograd

pytestmark = [
    pytest.mark.cpu_only(reason="the operators have kernels for the cpu"),
    pytest.mark.filterwarnings("ignore:There is a performance drop"),
]

rng = np.random.default_rng(0)
X, W = dt.tensor(rng.standard_normal(3)), dt.tensor(rng.standard_normal(3))
ROWS = dt.tensor(rng.standard_normal((4, 3)))
Operator = Callable[[dt.Tensor, dt.Tensor], dt.Tensor]


def composed(x: dt.Tensor, w: dt.Tensor) -> dt.Tensor:
    return x.sin() * w


def setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs)


def backward(ctx: Any, g: dt.Tensor) -> Any:
    x, w = ctx.saved_tensors
    return g * x.cos() * w, g * x.sin()


def by_custom_op(lib: Library) -> Operator:
    op = custom_op(
        "transformed::f", composed, mutates_args=(), schema="(Tensor x, Tensor w) -> Tensor"
    )
    op.register_autograd(backward, setup_context=setup)
    return op


def by_library(lib: Library) -> Operator:
    lib.define("g(Tensor x, Tensor w) -> Tensor")
    lib.impl("g", composed, "CPU")
    register_autograd("transformed::g", backward, setup_context=setup, lib=lib)
    found: Operator = dt.ops.transformed.g
    return found


def by_function(lib: Library) -> Operator:
    """Define an operator whose kernel for Autograd is a Function without ``setup_context``."""

    class Multiply(Function):
        @staticmethod
        def forward(ctx: Any, x: dt.Tensor, w: dt.Tensor) -> Any:
            ctx.save_for_backward(x, w)
            with AutoDispatchBelowAutograd():
                return dt.ops.transformed.h(x, w)

        @staticmethod
        def backward(ctx: Any, g: dt.Tensor) -> Any:
            return backward(ctx, g)

    lib.define("h(Tensor x, Tensor w) -> Tensor")
    lib.impl("h", composed, "CPU")
    lib.impl("h", Multiply.apply, "Autograd")
    found: Operator = dt.ops.transformed.h
    return found


def by_mapped_function(lib: Library) -> Operator:
    """Define one whose kernel for Autograd is a Function that can be mapped."""

    class Multiply(Function):
        generate_vmap_rule = True
        setup_context = staticmethod(setup)
        backward = staticmethod(backward)

        @staticmethod
        def forward(x: dt.Tensor, w: dt.Tensor) -> Any:
            with AutoDispatchBelowAutograd():
                return dt.ops.transformed.k(x, w)

    lib.define("k(Tensor x, Tensor w) -> Tensor")
    lib.impl("k", composed, "CPU")
    lib.impl("k", Multiply.apply, "Autograd")
    found: Operator = dt.ops.transformed.k
    return found


@pytest.fixture
def lib() -> Iterator[Library]:
    with _scoped_library("transformed", "FRAGMENT") as lib:
        yield lib


def captured(transformed: Callable[[dt.Tensor], dt.Tensor]) -> Any:
    """Return the gradient by a tensor that requires grad, and what `func.grad` says of it."""
    w = W.clone().requires_grad_()
    total = transformed(w).pow(2).sum()
    (by_leaf,) = dt.autograd.grad(total, w)
    return by_leaf, grad(lambda v: transformed(v).pow(2).sum())(W)


MAPPED: dict[str, Callable[[Operator], Any]] = {
    "vmap": lambda f: captured(lambda w: vmap(lambda x: f(x, w))(ROWS)),
    "vmap of the captured": lambda f: captured(lambda w: vmap(lambda x: f(w, x))(ROWS)),
    "vmap of vmap": lambda f: captured(
        lambda w: vmap(lambda x: vmap(lambda y: f(y, x * w[0]))(x))(ROWS)
    ),
    "grad": lambda f: captured(lambda w: grad(lambda x: f(x, w).pow(2).sum())(X)),
    "grad of grad": lambda f: grad(lambda x: grad(lambda y: f(y, W).pow(2).sum())(x).sum())(X),
    "jacrev of jacrev": lambda f: jacrev(jacrev(lambda x: f(x, W).pow(2)))(X),
}
NESTED: dict[str, Callable[[Operator], Any]] = {
    "vmap of grad": lambda f: captured(lambda w: vmap(grad(lambda x: f(x, w).pow(2).sum()))(ROWS)),
    "vmap of grad by all": lambda f: vmap(
        grad(lambda x, w: f(x, w).pow(2).sum(), (0, 1)), (0, None)
    )(ROWS, W),
}
PUSHED: dict[str, Callable[[Operator], Any]] = {
    "jvp": lambda f: captured(lambda w: jvp(lambda x: f(x, w), (X,), (X.cos(),))[1]),
    "jacfwd": lambda f: captured(lambda w: jacfwd(lambda x: f(x, w))(X)),
    "hessian": lambda f: captured(lambda w: hessian(lambda x: f(x, w).pow(2).sum())(X)),
    "vmap of jvp": lambda f: captured(
        lambda w: vmap(lambda x: jvp(lambda y: f(y, w), (x,), (x.cos(),))[1])(ROWS)
    ),
    "jvp of vmap": lambda f: captured(
        lambda w: jvp(vmap(lambda x: f(x, w)), (ROWS,), (ROWS.cos(),))[1]
    ),
}


def assert_equal(found: Any, wanted: Any) -> None:
    if isinstance(wanted, tuple):
        for one, other in zip(found, wanted, strict=True):
            assert_equal(one, other)
    else:
        np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), atol=1e-12)


@pytest.mark.parametrize("name", [*MAPPED, *NESTED, *PUSHED])
@pytest.mark.parametrize("define", [by_custom_op, by_library])
def test_a_registered_derivative_serves_all_transforms(
    define: Callable[[Library], Operator], name: str, lib: Library
) -> None:
    program = {**MAPPED, **NESTED, **PUSHED}[name]
    assert_equal(program(define(lib)), program(composed))


@pytest.mark.parametrize("name", [*MAPPED, *NESTED])
def test_a_function_for_autograd_that_can_be_mapped_serves_vmap_and_grad(
    name: str, lib: Library
) -> None:
    program = {**MAPPED, **NESTED}[name]
    assert_equal(program(by_mapped_function(lib)), program(composed))


@pytest.mark.parametrize("name", MAPPED)
def test_a_function_for_autograd_serves_the_calls_of_the_samples(name: str, lib: Library) -> None:
    program = MAPPED[name]
    assert_equal(program(by_function(lib)), program(composed))


@pytest.mark.parametrize("name", NESTED)
def test_a_function_that_cannot_be_mapped_refuses_gradients_inside_of_a_map(
    name: str, lib: Library
) -> None:
    with pytest.raises(RuntimeError, match="must override the setup_context staticmethod"):
        NESTED[name](by_function(lib))


@pytest.mark.parametrize("name", PUSHED)
@pytest.mark.parametrize("define", [by_function, by_mapped_function])
def test_a_function_without_jvp_refuses_forward_mode(
    define: Callable[[Library], Operator], name: str, lib: Library
) -> None:
    with pytest.raises((NotImplementedError, RuntimeError), match=r"jvp|setup_context"):
        PUSHED[name](define(lib))
