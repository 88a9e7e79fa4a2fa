"""`einsum` with lists of labels in the place of an equation, beside PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest
from same_programs import Programs, assert_same

programs = Programs()

CALLS = {
    "a product": ("x", [0, 1], "y", [1, 2], [0, 2]),
    "without labels of the result": ("x", [0, 1], "y", [1, 2]),
    "labels in the order of their numbers": ("x", [30, 2]),
    "labels on both sides of the letters": ("x", [25, 26], [26, 25]),
    "Ellipsis": ("z", [..., 0], "z", [..., 0], [...]),
    "Ellipsis without labels of the result": ("z", [..., 0], "z", [..., 0]),
    "a diagonal": ("y[:, :3]", [1, 1], [1]),
    "all summed": ("x", [0, 1], []),
    "tuples": ("x", (0, 1), (1, 0)),
    "a label beyond the letters": ("x", [0, 52]),
    "a negative label": ("x", [0, -1]),
    "a fraction": ("x", [0.5, 1]),
    "a label of the result that no operand has": ("x", [0, 1], "y", [1, 2], [0, 3]),
    "too few labels": ("x", [0]),
    "a tensor alone": ("x",),
}


def _given(lib: Any, each: Any) -> Any:
    if not isinstance(each, str):
        return each
    x, y, z = (
        lib.arange(float(n)).reshape(s) for n, s in ((6, (2, 3)), (12, (3, 4)), (24, (2, 3, 4)))
    )
    return {"x": x, "y": y, "z": z, "y[:, :3]": y[:, :3]}[each]


for name, call in CALLS.items():
    programs(name)(lambda lib, call=call: lib.einsum(*[_given(lib, each) for each in call]))


@programs("gradients")
def _gradients(lib: Any) -> Any:
    x = lib.ones(2, 3, requires_grad=True)
    lib.einsum(x, [0, 1], x, [2, 1], [0, 2]).sum().backward()
    return x.grad


@programs("inside of vmap")
def _vmap(lib: Any) -> Any:
    return lib.func.vmap(lambda row: lib.einsum(row, [0], row, [1], [1, 0]))(lib.ones(2, 3))


@pytest.mark.parametrize("name", programs)
def test_it_does_the_same(name: str) -> None:
    assert_same(programs[name], words=20)
