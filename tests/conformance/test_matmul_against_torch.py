"""Products of matrices and vectors, of nothing and of operands that do not fit, as in PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
from same_programs import Programs, assert_same

PROGRAMS = Programs(
    {
        "einsum takes its operands one by one": lambda lib: lib.einsum(
            "ij,jk->ik", lib.ones(2, 3), lib.ones(3, 2)
        ),
        "einsum of nothing": lambda lib: lib.einsum("ij"),
        "inner of nothing": lambda lib: lib.inner(lib.ones(2, 0), lib.ones(3, 0)),
        "linear of nothing": lambda lib: lib.nn.functional.linear(
            lib.ones(2, 1, 0), lib.ones(3, 0)
        ),
        "mv of a matrix": lambda lib: lib.ones(2, 2).mv(lib.ones(2, 2)),
    }
)


@PROGRAMS("the product of a vector and a matrix is no view")
def _(lib: Any) -> Any:
    product = lib.ones(2) @ lib.ones(2, 3)
    return product._is_view(), product.requires_grad_().detach_().tolist()


@PROGRAMS("a product and what is added to it are rounded once in half precision")
def _(lib: Any) -> Any:
    bits = []
    for dtype in (lib.float16, lib.bfloat16):
        # Products of integers are exact in single precision, in whatever order they are summed, and
        # too large for half precision.
        x = lib.arange(96).mul(37).reshape(2, 6, 8).remainder(127).sub(63).to(dtype)
        weight = lib.arange(40).mul(29).reshape(5, 8).remainder(113).sub(50).to(dtype)
        bias = lib.arange(5).mul(7).add(0.3).to(dtype)
        batches = lib.stack([weight.t(), weight.t()])
        results = (
            lib.nn.functional.linear(x[0], weight, bias),
            lib.nn.functional.linear(x[0].clone(), weight.clone(), bias),
            lib.nn.functional.linear(x, weight, bias),
            lib.addmm(bias, x[0], weight.t()),
            lib.addmm(bias, x[0], weight.t(), beta=0.3, alpha=1.7),
            lib.addmv(bias, weight, x[0, 0]),
            lib.baddbmm(bias, x, batches, beta=0.3, alpha=1.7),
        )
        bits += [result.view(lib.int16).tolist() for result in results]
    return bits


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_gives_the_same_in_torch(name: str) -> None:
    assert_same(PROGRAMS[name], words=0, close=True)
