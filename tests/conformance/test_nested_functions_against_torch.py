"""`Function` with a generated rule for `vmap`, in nestings of transforms, gives what the operators
give that it is made of; and what PyTorch gives where it has that nesting.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import dovetail

ROWS = np.arange(8.0).reshape(2, 4) / 4
ROW = np.array([0.5, 0.6, 0.7, 0.8])

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")


def saves(lib: Any) -> Any:
    """Save the inputs."""

    class Saves(lib.autograd.Function):  # type: ignore[misc]
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any, y: Any) -> Any:
            return x.sin() * y

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            x, y = ctx.saved_tensors
            return grad * x.cos() * y, grad * x.sin()

        @staticmethod
        def jvp(ctx: Any, x_t: Any, y_t: Any) -> Any:
            x, y = ctx.saved_tensors
            return x_t * x.cos() * y + y_t * x.sin()

    return Saves


def keeps(lib: Any) -> Any:
    """Keep them as attributes, also in containers."""

    class Keeps(lib.autograd.Function):  # type: ignore[misc]
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any, y: Any) -> Any:
            return x.sin() * y

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.x = inputs[0]
            ctx.others = {"y": [inputs[1], 1.0], "name": "y"}

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * ctx.x.cos() * ctx.others["y"][0], grad * ctx.x.sin()

        @staticmethod
        def jvp(ctx: Any, x_t: Any, y_t: Any) -> Any:
            return x_t * ctx.x.cos() * ctx.others["y"][0] + y_t * ctx.x.sin()

    return Keeps


def plain(lib: Any) -> Any:
    class Plain:
        @staticmethod
        def apply(x: Any, y: Any) -> Any:
            return x.sin() * y

    return Plain


def leaf(lib: Any, values: Any) -> Any:
    return lib.tensor(values, requires_grad=True)


def of_backward(lib: Any, function: Callable[[Any], Any]) -> Any:
    w = leaf(lib, ROW)
    function(w).sum().backward()
    return w.grad


def batched(lib: Any, f: Any) -> Any:
    w = leaf(lib, ROW)
    eye = lib.eye(4, dtype=lib.float64)
    return lib.autograd.grad(f(w, lib.tensor(ROW)), w, eye, is_grads_batched=True)[0]


def twice(lib: Any, f: Any) -> Any:
    w = leaf(lib, ROWS)
    y = lib.func.vmap(f, (0, None))(w, lib.tensor(ROW))
    first = lib.autograd.grad(y.sum(), w, retain_graph=True)[0]
    (second,) = lib.autograd.grad(y.sum(), w, create_graph=True)
    return first + lib.autograd.grad(second.sum(), w)[0]


NESTINGS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "vmap": lambda lib, f, X, y: lib.func.vmap(f, (0, None))(X, y),
    "vmap along the other dimension": lambda lib, f, X, y: lib.func.vmap(f, (1, 0))(X, y),
    "vmap out": lambda lib, f, X, y: lib.func.vmap(f, (0, None), out_dims=1)(X, y),
    "vmap of vmap": lambda lib, f, X, y: lib.func.vmap(lib.func.vmap(f))(X, X),
    "vmap of vmap of others": lambda lib, f, X, y: lib.func.vmap(
        lib.func.vmap(f, (0, None)), (None, 0)
    )(X, X),
    "three vmaps": lambda lib, f, X, y: lib.func.vmap(lib.func.vmap(lib.func.vmap(f)))(
        X[None], X[None]
    ),
    "vmap of grad": lambda lib, f, X, y: lib.func.vmap(lib.func.grad(lambda x: f(x, y).sum()))(X),
    "vmap of vmap of grad": lambda lib, f, X, y: lib.func.vmap(lib.func.vmap(lib.func.grad(f)))(
        X, X
    ),
    "grad of vmap": lambda lib, f, X, y: lib.func.grad(
        lambda X: lib.func.vmap(f, (0, None))(X, y).sum()
    )(X),
    "grad of vmap of vmap": lambda lib, f, X, y: lib.func.grad(
        lambda X: lib.func.vmap(lib.func.vmap(f))(X, X).sum()
    )(X),
    "jvp": lambda lib, f, X, y: lib.func.jvp(lambda x: f(x, y), (y,), (y,))[1],
    "vmap of jvp": lambda lib, f, X, y: lib.func.vmap(
        lambda x: lib.func.jvp(lambda x: f(x, y), (x,), (y,))[1]
    )(X),
    "vmap of jvp by both": lambda lib, f, X, y: lib.func.vmap(
        lambda x: lib.func.jvp(f, (x, y), (y, x))[1]
    )(X),
    "jvp of vmap": lambda lib, f, X, y: lib.func.jvp(
        lambda X: lib.func.vmap(f, (0, None))(X, y), (X,), (X,)
    )[1],
    "jvp of vmap by what is shared": lambda lib, f, X, y: lib.func.jvp(
        lambda y: lib.func.vmap(f, (0, None))(X, y), (y,), (y,)
    )[1],
    "jvp of jvp": lambda lib, f, X, y: lib.func.jvp(
        lambda x: lib.func.jvp(lambda x: f(x, y), (x,), (y,))[1], (y,), (y,)
    )[1],
    "jacfwd": lambda lib, f, X, y: lib.func.jacfwd(f)(y, y),
    "jacrev": lambda lib, f, X, y: lib.func.jacrev(f)(y, y),
    "jacfwd of jacfwd": lambda lib, f, X, y: lib.func.jacfwd(lib.func.jacfwd(f))(y, y),
    "jacrev of jacrev": lambda lib, f, X, y: lib.func.jacrev(lib.func.jacrev(f))(y, y),
    "jacrev of jacfwd": lambda lib, f, X, y: lib.func.jacrev(lib.func.jacfwd(f))(y, y),
    "hessian": lambda lib, f, X, y: lib.func.hessian(lambda x: f(x, y).sum())(y),
    "vmap of hessian": lambda lib, f, X, y: lib.func.vmap(
        lib.func.hessian(lambda x: f(x, y).sum())
    )(X),
    "vmap of jacfwd": lambda lib, f, X, y: lib.func.vmap(lib.func.jacfwd(f))(X, X),
    "hessian of vmap": lambda lib, f, X, y: lib.func.hessian(
        lambda X: lib.func.vmap(f, (0, None))(X, y).sum()
    )(X),
    "backward of a captured tensor": lambda lib, f, X, y: of_backward(
        lib, lambda w: lib.func.vmap(lambda x: f(x, w))(X)
    ),
    "backward of a captured tensor, two vmaps": lambda lib, f, X, y: of_backward(
        lib, lambda w: lib.func.vmap(lib.func.vmap(lambda x: f(x, w[0])))(X)
    ),
    "gradients in batches": lambda lib, f, X, y: batched(lib, f),
    "gradients twice, one graph kept": lambda lib, f, X, y: twice(lib, f),
}


FORWARD_TWICE = ("jvp of jvp", "jacfwd of jacfwd")
"""PyTorch takes what `jvp` reads from the context for constants of the next tangent: 0."""


def values(found: Any) -> Any:
    return [
        np.asarray(each.detach().cpu())
        for each in (found if isinstance(found, tuple) else (found,))
    ]


@pytest.mark.parametrize("nesting", NESTINGS)
@pytest.mark.parametrize("style", [saves, keeps])
def test_a_nesting_gives_what_operators_give(style: Any, nesting: str) -> None:
    def result(lib: Any, made: Any) -> Any:
        X, y = lib.tensor(ROWS), lib.tensor(ROW)
        return values(NESTINGS[nesting](lib, made(lib).apply, X, y))

    found = result(dovetail, style)
    for ours, expected in zip(found, result(dovetail, plain), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-12)
    if nesting in FORWARD_TWICE:
        return
    try:
        theirs = result(torch, style)
    except (RuntimeError, AssertionError) as error:  # where PyTorch has no such nesting
        assert re.search("bdim|internal assert|batching rule|escaped", str(error), re.IGNORECASE)
    else:
        for ours, expected in zip(found, theirs, strict=True):
            np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("lib", [dovetail, torch], ids=["dovetail", "torch"])
def test_results_that_samples_share_count_once_for_each(lib: Any) -> None:
    class ProductAndSquare(lib.autograd.Function):  # type: ignore[misc]
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any, y: Any) -> Any:
            return x * y, y * y

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, grad: Any, other: Any) -> Any:
            x, y = ctx.saved_tensors
            return grad * y, grad * x + other * y * 2

    def total(y: Any) -> Any:
        return lib.func.vmap(lambda x: ProductAndSquare.apply(x, y)[1])(lib.tensor(ROWS)).sum()

    found = lib.func.grad(total)(lib.tensor(ROW))
    often = len(ROWS) if lib is torch else 1  # a defect there: docs/differences.md
    np.testing.assert_allclose(values(found)[0], 2 * ROW * len(ROWS) * often)
