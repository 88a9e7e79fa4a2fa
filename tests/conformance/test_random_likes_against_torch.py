"""`rand_like`, `randn_like` and `randint_like` take PyTorch's arguments and draw its numbers."""

from __future__ import annotations

import pytest
from same_programs import Programs, assert_same


def of_seed(lib, seed=3):
    return lib.Generator().manual_seed(seed)


CALLS = {
    "randint_like high": lambda lib, x: lib.randint_like(x, 50),
    "randint_like low, high": lambda lib, x: lib.randint_like(x, 40, 50),
    "randint_like by name": lambda lib, x: lib.randint_like(x, low=40, high=50),
    "randint_like high by name": lambda lib, x: lib.randint_like(x, high=50),
    "randint_like low, high by name": lambda lib, x: lib.randint_like(x, 40, high=50),
    "randint_like a tensor": lambda lib, x: lib.randint_like(x, lib.tensor(50)),
    "randint_like swapped": lambda lib, x: lib.randint_like(x, 5, 2),
    "randint_like nothing": lambda lib, x: lib.randint_like(x),
    "randint_like of three": lambda lib, x: lib.randint_like(x, 1, 2, 3),
    "randint_like of a fraction": lambda lib, x: lib.randint_like(x, 2.5),
    "randint_like too much": lambda lib, x: lib.randint_like(x, 500, dtype=lib.uint8),
    "randint_like int64": lambda lib, x: lib.randint_like(x, 50, dtype=lib.int64),
    "randint_like drawn": lambda lib, x: lib.randint_like(x, 50, generator=of_seed(lib)),
    "randint_like transposed": lambda lib, x: lib.randint_like(x.view(3, 4).t(), 50),
    "randint_like strides": lambda lib, x: lib.randint_like(x.view(3, 4).t(), 50).stride(),
    "randint_like channels last": lambda lib, x: lib.randint_like(
        x.view(1, 2, 2, 3), 50, memory_format=lib.channels_last
    ).stride(),
    "rand_like drawn": lambda lib, x: lib.rand_like(x, generator=of_seed(lib)),
    "rand_like transposed, drawn": lambda lib, x: lib.rand_like(
        x.view(3, 4).t(), generator=of_seed(lib)
    ),
    "rand_like float64, drawn": lambda lib, x: lib.rand_like(
        x, dtype=lib.float64, generator=of_seed(lib)
    ),
    "randn_like drawn": lambda lib, x: lib.randn_like(x, generator=of_seed(lib)),
    "randint of a fraction": lambda lib, x: lib.randint(2.5, (3,)),
    "randint of a truth value": lambda lib, x: lib.randint(True, (3,)),
    "randint low, high by name": lambda lib, x: lib.randint(40, high=50, size=(3,)),
    "randint twice low": lambda lib, x: lib.randint(5, low=1, high=7, size=(3,)),
}

programs = Programs()


def drawn(lib, call):
    lib.manual_seed(5)
    return call(lib, lib.zeros(12))


for name, call in CALLS.items():
    programs(name)(lambda lib, call=call: drawn(lib, call))


@pytest.mark.cpu_only(reason="other devices draw numbers of their own")
@pytest.mark.parametrize("name", programs)
def test_random_numbers_like_a_tensor_are_those_of_pytorch(name: str) -> None:
    assert_same(programs[name], words=0, close=True)
