"""Wrapper subclasses inside of transforms: what a function captures, is given, or makes, gives what
the tensor that it holds gives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail import Tensor, func
from dovetail_kernel import disabled_torch_function_impl


class Wrapper(Tensor):
    """A tensor that holds another one, and hands operators on to it."""

    __torch_function__ = disabled_torch_function_impl
    held: Tensor

    @staticmethod
    def __new__(cls: Any, held: Tensor) -> Any:
        made = Tensor._make_wrapper_subclass(
            cls, tuple(held.shape), dtype=held.dtype, device=held.device
        )
        made.held = held
        return made

    def __init__(self, *_args: Any) -> None:
        pass

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return wrapped(func(*bare(list(args)), **(kwargs or {})))


def bare(value: Any) -> Any:
    """Return `value` with what wrappers hold in their place."""
    if isinstance(value, list | tuple):
        return [bare(each) for each in value]
    return bare(value.held) if isinstance(value, Wrapper) else value


def wrapped(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [wrapped(each) for each in value]
    return Wrapper(value) if isinstance(value, Tensor) else value


WEIGHT, X = dt.tensor([0.5, -1.0, 2.0]), dt.tensor([1.0, 2.0, -0.5])
ROWS = dt.tensor([[0.1, 0.2, 0.3], [1.0, -1.0, 0.5]])
Transformed = Callable[[Callable[[Any], Any]], Any]
CAPTURED: dict[str, Transformed] = {
    "vmap": lambda f: func.vmap(f)(ROWS),
    "jvp": lambda f: func.jvp(f, (X,), (X.cos(),)),
    "grad": lambda f: func.grad(lambda u: f(u).sum())(X),
    "vjp": lambda f: func.vjp(lambda u: f(u).sum(), X)[1](dt.tensor(1.0)),
    "jacrev": lambda f: func.jacrev(f)(X),
    "jacfwd": lambda f: func.jacfwd(f)(X),
    "hessian": lambda f: func.hessian(lambda u: f(u).sum())(X),
    "vmap of grad": lambda f: func.vmap(func.grad(lambda u: f(u).sum()))(ROWS),
    "vmap of jvp": lambda f: func.vmap(lambda u: func.jvp(f, (u,), (u.cos(),)))(ROWS),
    "jvp of vmap": lambda f: func.jvp(func.vmap(f), (ROWS,), (ROWS.cos(),)),
    "vmap of vmap": lambda f: func.vmap(lambda u: func.vmap(lambda v: f(u * v))(ROWS))(ROWS),
}
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "product": lambda u, w: u.sin() * w,
    "product of the wrapper": lambda u, w: w * u * u,
    "list": lambda u, w: dt.cat([u * u, w]),
    "composite": lambda u, w: dt.nn.functional.smooth_l1_loss(u * u, w, reduction="none"),
    "several results": lambda u, w: (u * u * w).sort()[0],
    "of the wrapper alone": lambda u, w: u * w.exp().sum(),
}


def assert_equal(found: Any, wanted: Any) -> None:
    if isinstance(wanted, list | tuple):
        for one, other in zip(found, wanted, strict=True):
            assert_equal(one, other)
    else:
        np.testing.assert_allclose(bare(found).cpu().numpy(), wanted.cpu().numpy(), atol=1e-6)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("transformed", CAPTURED.values(), ids=CAPTURED)
def test_functions_may_capture_a_wrapper(
    transformed: Transformed, function: Callable[[Any, Any], Any]
) -> None:
    found = transformed(lambda u: function(u, Wrapper(WEIGHT)))
    assert_equal(found, transformed(lambda u: function(u, WEIGHT)))


GIVEN: dict[str, Callable[[Tensor], Any]] = {
    "grad": func.grad(lambda u: (X * u * u).sum()),
    "grad of grad": func.grad(lambda v: func.grad(lambda u: (X * u * u * u).sum())(v).sum()),
    "vmap": func.vmap(lambda u: X * u * u),
    "jvp": lambda w: func.jvp(lambda u: X * u * u, (w,), (w,)),
    "vmap of grad": func.vmap(func.grad(lambda u: (X * u * u).sum())),
}


@pytest.mark.parametrize("transformed", GIVEN.values(), ids=GIVEN)
def test_functions_may_be_given_a_wrapper(transformed: Callable[[Tensor], Any]) -> None:
    assert_equal(transformed(Wrapper(ROWS)), transformed(ROWS))


@pytest.mark.parametrize("name", ["vmap", "jvp", "jacfwd", "vmap of jvp", "jvp of vmap"])
def test_functions_may_make_a_wrapper(name: str) -> None:
    found = CAPTURED[name](lambda u: bare(Wrapper(u) * 2 * Wrapper(u.sin()) * u))
    assert_equal(found, CAPTURED[name](lambda u: u * 2 * u.sin() * u))


def test_a_wrapper_that_holds_a_tensor_of_an_outer_transform_is_mapped() -> None:
    def outer(w: Tensor) -> Any:
        return bare(func.vmap(lambda u: u.sin() * Wrapper(w * w))(ROWS))

    found = func.jvp(outer, (WEIGHT,), (X,))
    wanted = func.jvp(lambda w: ROWS.sin() * w * w, (WEIGHT,), (X,))
    assert_equal(found, wanted)
