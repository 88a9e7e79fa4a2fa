"""Writes to views inside of transforms within transforms, on arrays that cannot be written and have
no strides: the values are those of arrays that can.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from frozen_arrays import unwritten_and_written

import dovetail
from dovetail import Tensor
from dovetail.func import grad, hessian, jacfwd, jacrev, jvp, vmap

pytestmark = pytest.mark.cpu_only(reason="the tests make backends of their own")

Function = Callable[[Tensor], Tensor]


def copied(v: Tensor) -> Tensor:
    """Write into one element of a vector."""
    made = v.new_zeros(3)
    made[1].copy_(v)
    return made


def added(v: Tensor) -> Tensor:
    """Write to a part twice."""
    made = v.new_zeros(3)
    made[1:].add_(v)
    made[1:].mul_(v)
    return made


def deeper(v: Tensor) -> Tensor:
    """Write to a view of a transposed view, and read the base and another view."""
    made = v.new_ones(2, 3)
    other = made[:, 2]
    made.t()[2][1:].copy_(v.sin())
    other.mul_(2)
    return made + other.sum()


def beside(v: Tensor) -> Tensor:
    """Write to one of two views, and read the other."""
    made = v.new_ones(2, 3)
    first, second = made[0], made.narrow(0, 1, 1)
    second.mul_(v)
    return made * first


def doubled(v: Tensor) -> Tensor:
    """Write to a view of what is itself computed."""
    made = (v * v).expand(3).clone()
    made.view(3, 1)[2] = v**3
    return made


WRITES = {each.__name__: each for each in (copied, added, deeper, beside, doubled)}
ONE = np.ones(1)
COMPOSITIONS: dict[str, Callable[[Function, Tensor], Any]] = {
    "vmap": lambda f, x: vmap(f)(x[0]),
    "vmap vmap": lambda f, x: vmap(vmap(f))(x),
    "vmap jvp": lambda f, x: vmap(lambda v: jvp(f, (v,), (v.cos(),)))(x[0]),
    "jvp vmap": lambda f, x: jvp(vmap(f), (x[0],), (x[1],)),
    "jvp vmap vmap": lambda f, x: jvp(vmap(vmap(f)), (x,), (x.cos(),)),
    "vmap jvp vmap": lambda f, x: vmap(lambda r: jvp(vmap(f), (r,), (r.cos(),)))(x),
    "vmap jvp jvp": lambda f, x: vmap(
        lambda v: jvp(lambda w: jvp(f, (w,), (w * w,))[1], (v,), (v,))
    )(x[0]),
    "grad vmap vmap": lambda f, x: grad(lambda y: vmap(vmap(f))(y).sin().sum())(x),
    "vmap grad vmap": lambda f, x: vmap(grad(lambda r: vmap(f)(r).sin().sum()))(x),
    "vmap grad grad": lambda f, x: vmap(grad(grad(lambda v: f(v).sin().sum())))(x[0]),
    "vmap hessian": lambda f, x: vmap(hessian(lambda r: f(r[0] * r[1]).sum()))(x),
    "vmap jacrev jacrev": lambda f, x: vmap(jacrev(jacrev(lambda r: f(r[0] * r[1]))))(x),
    "vmap jacfwd jacfwd": lambda f, x: vmap(jacfwd(jacfwd(lambda r: f(r[0] * r[1]))))(x),
}


@pytest.mark.parametrize("composition", COMPOSITIONS)
@pytest.mark.parametrize("write", WRITES)
def test_a_write_to_a_view_is_that_of_memory(write: str, composition: str) -> None:
    found, wanted = (
        COMPOSITIONS[composition](
            WRITES[write],
            dovetail.tensor([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], dtype=dovetail.float64).to(device),
        )
        for device in unwritten_and_written()
    )
    several = isinstance(found, tuple)
    for one, other in zip(
        found if several else (found,), wanted if several else (wanted,), strict=True
    ):
        assert one.isfinite().all()
        np.testing.assert_allclose(one.cpu().numpy(), other.cpu().numpy(), rtol=1e-12)
