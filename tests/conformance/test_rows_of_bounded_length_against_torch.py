"""Rows of a table that are shortened before they are picked: derivatives of either mode take
the table as it is then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from same_programs import assert_same, plain

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning"),
]


def picked(lib: Any, table: Any) -> Any:
    """Return rows, squared; one is longer than 1 and one is not."""
    return lib.nn.functional.embedding(lib.tensor([0, 1, 3]), table, max_norm=1.0) ** 2


def bagged(lib: Any, table: Any) -> Any:
    """Return sums of such rows, squared."""
    rows, offsets = lib.tensor([0, 1, 3]), lib.tensor([0, 1])
    bags = lib.nn.functional.embedding_bag(rows, table, offsets, max_norm=1.0, mode="sum")
    return bags**2


def dual(lib: Any, function: Callable[[Any, Any], Any], table: Any) -> Any:
    """Return the tangents of rows and of the table."""
    forward_ad = lib.autograd.forward_ad
    with forward_ad.dual_level():
        both = forward_ad.make_dual(table, lib.full_like(table, 2.0))
        rows = function(lib, both)
        return [forward_ad.unpack_dual(each).tangent for each in (rows, both)]


DERIVATIVES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "vjp": lambda lib, f, x: lib.func.grad(lambda x: f(lib, x).sum())(x),
    "jacrev": lambda lib, f, x: lib.func.jacrev(lambda x: f(lib, x))(x),
    "jvp": lambda lib, f, x: lib.func.jvp(lambda x: f(lib, x), (x,), (lib.ones_like(x),)),
    "dual": dual,
    "hessian": lambda lib, f, x: lib.func.hessian(lambda x: f(lib, x).sum())(x),
}


@pytest.mark.parametrize("function", [picked, bagged])
@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_leave_the_shortening_out(name: str, function: Any) -> None:
    if function is bagged and name in ("jvp", "dual", "hessian"):
        pytest.skip("PyTorch has no forward mode of bags")

    def program(lib: Any) -> Any:
        table = lib.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [0.5, 0.25]])
        return plain([DERIVATIVES[name](lib, function, table), table])

    assert_same(program)
