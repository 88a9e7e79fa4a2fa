"""The constructors of old, ``Tensor(data)`` and ``LongTensor(data)``, as in PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from same_programs import Programs, assert_same


def shares_an_array(lib: Any, make: Any) -> Any:
    array = np.ones(2, dtype=np.float32)
    make(array)[0] = 5
    return lib.from_numpy(array)


PROGRAMS = Programs(
    {
        "Tensor of a list": lambda lib: lib.Tensor([[1, 2], [3, 4.5]]),
        "Tensor of a tuple": lambda lib: lib.Tensor((2, 3)),
        "Tensor of nothing": lambda lib: lib.Tensor(),
        "Tensor of sizes": lambda lib: lib.zeros_like(lib.Tensor(2, 3)),
        "Tensor of a Size": lambda lib: lib.zeros_like(lib.Tensor(lib.Size([2, 3]))),
        "Tensor of a NumPy integer": lambda lib: lib.zeros_like(lib.Tensor(np.int64(3))),
        "Tensor of a named size": lambda lib: lib.zeros_like(lib.Tensor(size=(2, 3))),
        "Tensor of an array": lambda lib: lib.Tensor(np.array([1, 2])),
        "Tensor of an array shares its memory": lambda lib: shares_an_array(lib, lib.Tensor),
        "Tensor of a tensor": lambda lib: lib.Tensor(lib.tensor([1, 2])),
        "Tensor of a tensor in a graph": lambda lib: lib.autograd.grad(
            (lib.Tensor(x := lib.ones(2, requires_grad=True)) * 3).sum(), x
        )[0],
        "Tensor of a float": lambda lib: lib.Tensor(2.0),
        "Tensor of a bool": lambda lib: lib.Tensor(True),
        "Tensor of a string": lambda lib: lib.Tensor("12"),
        "Tensor of None": lambda lib: lib.Tensor(None),
        "Tensor of a complex number": lambda lib: lib.Tensor([1j]),
        "Tensor of a size and something else": lambda lib: lib.Tensor(2, [3]),
        "Tensor of a dtype": lambda lib: lib.Tensor([1], dtype=lib.int64),
        "Tensor of less than nothing": lambda lib: lib.Tensor(-1),
        "Tensor on the cpu": lambda lib: lib.Tensor([1], device="cpu"),
        "Tensor on another device": lambda lib: lib.Tensor([1], device="meta"),
        "Tensor of a tensor on a device": lambda lib: lib.Tensor(lib.ones(1), device="cpu"),
        "LongTensor of a fraction": lambda lib: lib.LongTensor([1.5]),
        "LongTensor of floats": lambda lib: lib.LongTensor(lib.ones(2)),
        "BoolTensor of numbers": lambda lib: lib.BoolTensor([0, 2]),
        "HalfTensor of numbers": lambda lib: lib.HalfTensor([0, 2]),
        "a FloatTensor is known by its dtype": lambda lib: lib.tensor(
            [
                isinstance(x, lib.FloatTensor)
                for x in (
                    lib.ones(1, device="cpu"),
                    lib.arange(1, device="cpu"),
                    lib.ones(1, device="meta"),
                    1.0,
                )
            ]
        ),
        "the type FloatTensor": lambda lib: lib.ones(2, dtype=lib.int64).type(lib.FloatTensor),
        "a subclass of nothing but a name": lambda lib: type("Mine", (lib.Tensor,), {})([1, 2]),
    }
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_gives_the_same_in_torch(name: str) -> None:
    assert_same(PROGRAMS[name], words=0, close=True)
