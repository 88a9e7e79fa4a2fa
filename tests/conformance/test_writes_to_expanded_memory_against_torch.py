"""Writes to tensors whose elements share memory: what does not depend on an order is done, as in
PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from same_programs import assert_same, tried

TENSORS: dict[str, Callable[[Any], Any]] = {
    "an expanded element": lambda lib: lib.zeros(1).expand(3),
    "an expanded number": lambda lib: lib.tensor(0.0).expand(3),
    "expanded rows": lambda lib: lib.zeros(2, 1).expand(2, 3),
    "a row that is repeated": lambda lib: lib.broadcast_to(lib.zeros(3), (2, 3)),
    "strides of zero": lambda lib: lib.zeros(2).as_strided((2, 2), (1, 0)),
    "nothing shared": lambda lib: lib.zeros(1).expand(1),
}
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "fill_": lambda lib, x: x.fill_(2),
    "zero_": lambda lib, x: x.zero_(),
    "one element": lambda lib, x: x.__setitem__((0,) * x.dim(), 1),
    "one element of a tensor": lambda lib, x: x.__setitem__((0,) * x.dim(), lib.tensor(1.0)),
    "a view that shares nothing": lambda lib, x: x.select(-1, 0).fill_(3),
    "a view that shares nothing, added to": lambda lib, x: x.select(-1, 0).add_(3),
    "a view that shares nothing, in a ufunc": lambda lib, x: x.select(-1, 0).exp_(),
    "a view of a view": lambda lib, x: x.select(-1, 0)[..., None].mul_(2),
    "an element, divided": lambda lib, x: x.__setitem__(0, x[0].div_(2)) if x.dim() == 1 else None,
    "copy_": lambda lib, x: x.copy_(lib.ones(x.shape)),
    "add_": lambda lib, x: x.add_(1),
    "mul_": lambda lib, x: x.mul_(2),
    "exp_": lambda lib, x: x.exp_(),
    "relu_": lambda lib, x: x.relu_(),
    "clamp_": lambda lib, x: x.clamp_(0, 1),
    "addcmul_": lambda lib, x: x.addcmul_(lib.ones(x.shape), lib.ones(x.shape)),
    "scatter_add_": lambda lib, x: x.scatter_add_(
        0, lib.zeros(x.shape, dtype=lib.int64), lib.ones(x.shape)
    ),
    "out=": lambda lib, x: lib.add(lib.ones(x.shape), 1, out=x),
    "a read": lambda lib, x: lib.ones(x.shape).add_(x),
}


@pytest.mark.parametrize("tensor", TENSORS)
@pytest.mark.parametrize("write", WRITES)
def test_a_write_is_done_or_refused_alike(tensor: str, write: str) -> None:
    def program(lib: Any) -> Any:
        x = TENSORS[tensor](lib)
        outcome = tried(lambda: WRITES[write](lib, x), words=80)
        return outcome, x.tolist(), x._version if outcome is not None else None

    assert_same(program)


def test_a_part_is_written_where_it_lies() -> None:
    def program(lib: Any) -> Any:
        x = lib.zeros(1).expand(3)
        before = x.data_ptr()
        x[0].add_(1)
        return x.data_ptr() == before, x.tolist()

    assert_same(program)
