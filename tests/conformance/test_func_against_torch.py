"""Compositions of function transforms against PyTorch: small functions, transforms nested in any
order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import dovetail
import dovetail.func

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")

SHAPES = ((3,), (2, 3))

# A function of one tensor, written for either library `m`, by name. All are smooth where the inputs
# are.
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sin": lambda m, x: m.sin(x) * x,
    "product": lambda m, x: x * x.sum() + x.exp(),
    "softmax": lambda m, x: m.softmax(x, -1) * x,
    "matmul": lambda m, x: (x.unsqueeze(-1) @ x.unsqueeze(-2)).sum(-1).tanh(),
    "reduce": lambda m, x: (x**3).mean(-1, keepdim=True) + x.sigmoid(),
    "views": lambda m, x: m.cat(
        [x[..., 1:] * x[..., :-1], x[..., :1].reshape(x[..., :1].shape) ** 2], -1
    ),
    "writes": lambda m, x: written(x),
    "norm": lambda m, x: x / (x * x).sum(-1, keepdim=True).sqrt(),
    "where": lambda m, x: m.where(x > 0.1, x.log1p(), x * 2),
    "logsumexp": lambda m, x: m.logsumexp(x, -1, keepdim=True) * x,
    "index": lambda m, x: x[..., m.tensor([2, 0])].cos() * x[..., 1:],
    "var": lambda m, x: x.var(-1, keepdim=True) * x.square(),
    "activation": lambda m, x: m.nn.functional.gelu(x) + m.nn.functional.softplus(x),
}


def written(x: Any) -> Any:
    """Return something made by in-place writes to a copy and a view of it."""
    y = x.clone()
    y[..., 0].mul_(x[..., 1])
    y.add_(x)
    return y.sin_()


def scalar(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return `f` with its result reduced to a number."""
    return lambda x: (f(x) * f(x).detach().cos().detach() * 0 + f(x) ** 2).sum()


# What makes a function of one tensor of another, for the transforms `F` of either library.
TRANSFORMS: dict[str, Callable[[Any, Callable[..., Any]], Callable[..., Any]]] = {
    "grad": lambda F, f: F.grad(scalar(f)),
    "value": lambda F, f: lambda x: F.grad_and_value(scalar(f))(x)[1] * x,
    "vjp": lambda F, f: lambda x: pulled(*F.vjp(f, x)),
    "jvp": lambda F, f: lambda x: F.jvp(f, (x,), (x.sin(),))[1],
    "jacrev": lambda F, f: lambda x: F.jacrev(f)(x).sum(tuple(range(f(x).dim()))),
    "jacfwd": lambda F, f: lambda x: F.jacfwd(f)(x).sum(tuple(range(f(x).dim()))),
    "vmap": lambda F, f: (
        lambda x: F.vmap(f)(x) if x.dim() > 1 else F.vmap(f)(x.unsqueeze(0)).squeeze(0)
    ),
    "hessian": lambda F, f: lambda x: F.hessian(scalar(f))(x).sum(tuple(range(x.dim()))),
}


def pulled(out: Any, pull: Callable[..., Any]) -> Any:
    """Return the product with the Jacobian of a vector that depends on the output."""
    return pull(out / (1 + out * out))[0]


CHEAP = ("grad", "value", "vjp", "jvp", "vmap")


def both(name: str, names: tuple[str, ...], x: np.ndarray) -> tuple[Any, Any]:
    """Return the function `name` transformed by `names`, innermost first, of `x`, by Dovetail and
    by PyTorch.
    """
    results = []
    for m, func in ((dovetail, dovetail.func), (torch, torch.func)):
        f: Callable[..., Any] = lambda x, m=m: FUNCTIONS[name](m, x)  # noqa: E731
        for each in names:
            f = TRANSFORMS[each](func, f)
        results.append(f(m.tensor(x)))
    return results[0], results[1]


def agree(found: Any, expected: Any) -> None:
    assert tuple(found.shape) == tuple(expected.shape)
    assert not found.requires_grad
    np.testing.assert_allclose(
        found.cpu().numpy(), expected.detach().cpu().numpy(), rtol=1e-7, atol=1e-8
    )


def numbers(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.2, 1.5, shape)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_transform_gives_what_torch_gives(name: str, transform: str) -> None:
    for shape in SHAPES:
        agree(*both(name, (transform,), numbers(shape, 1)))


@settings(max_examples=40, deadline=None, phases=(Phase.generate,))  # to shrink takes minutes
@given(
    name=st.sampled_from(sorted(FUNCTIONS)),
    inner=st.lists(st.sampled_from(CHEAP), min_size=1, max_size=2),
    outer=st.sampled_from(sorted(TRANSFORMS)),
    shape=st.sampled_from(SHAPES),
    seed=st.integers(0, 1000),
)
def test_nested_transforms_give_what_torch_gives(
    name: str, inner: list[str], outer: str, shape: tuple[int, ...], seed: int
) -> None:
    agree(*both(name, (*inner, outer), numbers(shape, seed)))


def test_the_gradient_of_prelu_at_0_is_differentiated_on_the_side_of_the_weight() -> None:
    def slopes(lib: Any) -> tuple[Any, Any]:
        def gradient(x: Any, weight: Any) -> Any:
            return lib.func.grad(lambda x: lib.nn.functional.prelu(x, weight).sum())(x)

        x, weight = (lib.tensor(values, dtype=lib.float64) for values in ([0.0, 1.0, -1.0], [0.3]))
        found = lib.func.jacrev(gradient, 1)(x, weight)
        return gradient(x, weight).tolist(), found.flatten().tolist()

    assert slopes(dovetail) == ([0.3, 1.0, 0.3], [1.0, 0.0, 1.0])
    assert slopes(torch) == ([0.3, 1.0, 0.3], [0.0, 0.0, 1.0])
