"""Scans with functions, beside PyTorch's and beside loops."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
import torch

import dovetail

BOTH = pytest.mark.parametrize("t", [torch, dovetail], ids=["torch", "dovetail"])


def of(t: Any, name: str) -> Any:
    return getattr(import_module(f"{t.__name__}._higher_order_ops.{name}"), name)


def affine(first: Any, second: Any) -> Any:
    """Combine maps ``x -> p x + q``: an order of operands that matters."""
    return {"p": second["p"] * first["p"], "q": second["p"] * first["q"] + second["q"]}


@pytest.mark.parametrize(
    ("t", "count", "reverse"),  # PyTorch compiles each of its own
    [
        (torch, 5, True),
        *((dovetail, count, reverse) for count in (1, 2, 3, 4, 5, 8, 13) for reverse in (0, 1)),
    ],
)
def test_partial_results_are_those_of_a_loop(t: Any, count: int, reverse: bool) -> None:
    draw = np.random.default_rng(count)
    p, q = draw.standard_normal((2, 2, count, 3))
    found = of(t, "associative_scan")(
        affine,
        {"p": t.tensor(p), "q": t.tensor(q)},
        1,
        reverse=bool(reverse),
        combine_mode="generic",
    )
    places = range(count)[::-1] if reverse else range(count)
    total = None
    for place in places:
        here = {"p": p[:, place], "q": q[:, place]}
        total = here if total is None else affine(total, here)
        for name in "pq":
            np.testing.assert_allclose(found[name][:, place].cpu().numpy(), total[name], rtol=1e-10)


def test_partial_results_have_gradients() -> None:
    gradients = []
    for t in (torch, dovetail):
        x = t.arange(1.0, 7.0).requires_grad_()
        scan = of(t, "associative_scan")
        made = scan(lambda a, b: a * b, x, 0, combine_mode="generic")
        (made * t.arange(6.0)).sum().backward()
        gradients.append(x.grad.cpu().numpy())
    np.testing.assert_allclose(gradients[1], gradients[0])


@pytest.mark.parametrize(("dim", "reverse"), [(0, False), (1, False), (0, True), (1, True)])
def test_a_scan_carries_a_value_along(dim: int, reverse: bool) -> None:
    t = dovetail
    x = t.arange(1.0, 7.0).view(3, 2)
    carry, kept = of(t, "scan")(
        lambda carry, x: (carry + x, carry * 2),
        t.zeros(x.size(1 - dim)),
        x,
        dim=dim,
        reverse=reverse,
    )
    array = np.moveaxis(x.cpu().numpy(), dim, 0)
    array = array[::-1] if reverse else array
    expected = 2 * (np.cumsum(array, 0) - array)
    np.testing.assert_allclose(carry.cpu().numpy(), array.sum(0))
    expected = np.moveaxis(expected[::-1] if reverse else expected, 0, dim)
    np.testing.assert_allclose(kept.cpu().numpy(), expected)


@BOTH
def test_what_is_no_function_is_refused(t: Any) -> None:
    with pytest.raises(ValueError, match="must be a callable"):
        of(t, "associative_scan")(3, t.ones(2), 0)
    with pytest.raises(IndexError, match="Dimension out of range"):
        of(t, "associative_scan")(lambda a, b: a, t.ones(2), 3)


def test_what_does_not_fit_is_refused() -> None:
    scan, associative = of(dovetail, "scan"), of(dovetail, "associative_scan")
    x = dovetail.ones(4, 2)
    with pytest.raises(ValueError, match="'pointwise' or 'generic'"):
        associative(lambda a, b: a, x, 0, combine_mode="fast")
    with pytest.raises(RuntimeError, match=r"have \[2, 4\]"):
        associative(lambda a, b: a, [x, x[:2]], 0)
    with pytest.raises(RuntimeError, match="one slice"):
        scan(lambda c, x: (c, x), x, x[:0])
    with pytest.raises(RuntimeError, match="should return the structure"):
        associative(lambda a, b: (a, b), x, 0)
    with pytest.raises(RuntimeError, match="shapes and dtypes of the slices"):
        associative(lambda a, b: a.sum(), x, 0)
    with pytest.raises(RuntimeError, match="should return a carry"):
        scan(lambda carry, x: carry, x[0], x)
    assert associative(lambda a, b: a + b, x, 0).tolist() == x.cumsum(0).tolist()
