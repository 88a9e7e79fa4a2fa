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


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_gives_the_same_in_torch(name: str) -> None:
    assert_same(PROGRAMS[name], words=0, close=True)
