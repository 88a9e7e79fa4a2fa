"""Writes to a tensor that all samples of a `vmap` share, recorded by a gradient inside of it and by
one outside: PyTorch's values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import dovetail


def _two_views(b: Any, x: Any, c: Any) -> None:
    first, whole = b[:2], b.view(-1)
    first.mul_((x * c).sum())
    whole.add_(x.sum())
    first.sin_()


def _two_views_out_of_place(b: Any, x: Any, c: Any) -> Any:
    """PyTorch refuses `_two_views`: it takes the first view for one of a leaf."""
    b = torch.cat([b[:2] * (x * c).sum(), b[2:]]) + x.sum()
    return torch.cat([b[:2].sin(), b[2:]])


def _view_made_before(b: Any, x: Any, c: Any) -> None:
    kept = b[1:]
    b[:2].mul_((x * c).sum())
    b.add_(kept.sum())


def _repeatedly(b: Any, x: Any, c: Any) -> None:
    b.mul_((x * c).sum())
    b.mul_(c)
    b.add_(x.sum())
    b.mul_((x * x * c).sum())


pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")

WRITES: dict[str, Any] = {
    "the tensor": lambda b, x, c: b.mul_((x * c).sum()),
    "a part": lambda b, x, c: b[:1].mul_((x * c).sum()),
    "a flat view": lambda b, x, c: b.view(-1).add_((x * c).sum()),
    "an element": lambda b, x, c: b.__setitem__(0, (x * c).sum()),
    "two views": _two_views,
    "a view that was made before": _view_made_before,
    "repeatedly": _repeatedly,
}
TARGETS: dict[str, Any] = {
    "a constant": lambda lib, c: lib.ones(3, dtype=lib.float64),
    "recorded outside": lambda lib, c: c * 2,
}
INSIDE: dict[str, Any] = {
    "vmap of grad": lambda lib, f, x: lib.func.vmap(lambda t: lib.func.grad(f)(x) * t),
    "vmap of jacrev": lambda lib, f, x: lib.func.vmap(lambda t: lib.func.jacrev(f)(x) * t),
    "vmap of jvp": lambda lib, f, x: lib.func.vmap(
        lambda t: lib.func.jvp(f, (x,), (x.sin(),))[1] * t
    ),
    "jacfwd of grad": lambda lib, f, x: lambda t: lib.func.jacfwd(lib.func.grad(f))(x * t[0]),
}
OUTSIDE: dict[str, Any] = {
    "jacrev": lambda lib, h, c: lib.func.jacrev(h)(c),
    "jacfwd": lambda lib, h, c: lib.func.jacfwd(h)(c),
    "jacfwd of jacrev": lambda lib, h, c: lib.func.jacfwd(lib.func.jacrev(h))(c),
    "backward": lambda lib, h, c: lib.autograd.grad(h(c.requires_grad_()).sin().sum(), c)[0],
}


def derivative(lib: Any, write: Any, target: Any, inside: Any, outside: Any) -> Any:
    x = lib.tensor([0.3, 0.7, -0.4], dtype=lib.float64)
    times = lib.tensor([1.0, 2.0], dtype=lib.float64)

    def of_outer(c: Any) -> Any:
        def of_inner(x: Any) -> Any:
            b = target(lib, c)
            made = write(b, x, c)
            b = made if write is _two_views_out_of_place else b
            return (b * b * x).sum()

        return inside(lib, of_inner, x)(times)

    found = outside(lib, of_outer, lib.tensor([0.5, -1.2, 0.8], dtype=lib.float64))
    return found.detach().cpu().numpy()


@pytest.mark.parametrize("outside", OUTSIDE)
@pytest.mark.parametrize("inside", INSIDE)
def test_both_gradients_are_those_of_pytorch(inside: str, outside: str) -> None:
    for target in TARGETS.values():
        for name, write in WRITES.items():
            how = target, INSIDE[inside], OUTSIDE[outside]
            twin = _two_views_out_of_place if write is _two_views else write
            expected = derivative(torch, twin, *how)
            found = derivative(dovetail, write, *how)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=name)


def test_a_tensor_that_was_never_made_is_no_view() -> None:
    empty = dovetail.Tensor.__new__(dovetail.Tensor), object.__new__(dovetail.Tensor)
    how = next(iter(TARGETS.values())), next(iter(INSIDE.values())), next(iter(OUTSIDE.values()))
    name, write = next(iter(WRITES.items()))
    found, expected = derivative(dovetail, write, *how), derivative(torch, write, *how)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=name)
    assert len(empty) == 2
