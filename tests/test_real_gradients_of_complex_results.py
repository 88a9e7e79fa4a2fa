"""Gradients of real tensors whose results are complex."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import dovetail
from dovetail import Tensor

PRODUCTS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "to": lambda x, c: x.to(c.dtype) * c,
    "cdouble": lambda x, c: x.to(c).clone() * c,
    "dot": lambda x, c: dovetail.dot(x.to(c.dtype), c),
    "add": lambda x, c: x + c,
    "pow": lambda x, c: c**x,
    "copy_": lambda x, c: dovetail.zeros_like(c).copy_(x) * c,
    "setitem": lambda x, c: dovetail.zeros_like(c).index_put((dovetail.arange(3),), x + 0 * c) * c,
    "cat": lambda x, c: dovetail.cat([x, c]) * c[0],
    "where": lambda x, c: dovetail.where(x > 1.5, x, c),
    "sum": lambda x, c: x.sum(dtype=c.dtype) * c,
    "cumsum": lambda x, c: x.cumsum(0, dtype=c.dtype) * c,
}


@pytest.mark.parametrize("product", PRODUCTS.values(), ids=PRODUCTS)
def test_the_gradient_of_a_real_tensor_drops_imaginary_parts_without_a_warning(
    product: Callable[[Tensor, Tensor], Tensor],
) -> None:
    x = dovetail.tensor([1.0, 2.0, 3.0], dtype=dovetail.float64, requires_grad=True)
    c = dovetail.tensor([1 + 1j, 2 - 1j, 3j], dtype=dovetail.complex128)
    always = dovetail.is_warn_always_enabled()
    dovetail.set_warn_always(True)
    try:  # warnings are errors
        (gradient,) = dovetail.autograd.grad(product(x, c).abs().sum(), x)
        batched = dovetail.func.vmap(dovetail.func.grad(lambda v: product(v, c).abs().sum()))
        if product is not PRODUCTS["copy_"]:  # inside vmap it writes to what is not mapped
            assert batched(x.detach()[None]).shape == (1, 3)
    finally:
        dovetail.set_warn_always(always)
    assert gradient.dtype is dovetail.float64
    step = 1e-6
    for place in range(3):
        nudge = dovetail.zeros(3, dtype=dovetail.float64)
        nudge[place] = step
        ends = [product(x.detach() + sign * nudge, c).abs().sum() for sign in (1, -1)]
        assert float(gradient[place]) == pytest.approx(
            float((ends[0] - ends[1]) / (2 * step)), rel=1e-5
        )
