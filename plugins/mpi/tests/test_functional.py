"""Collectives that gradients pass, on two and three ranks."""

import pytest
from ranks import names_in, passes

CASES = [(name, size) for size in (2, 3) for name in names_in("functional")]


@pytest.mark.parametrize(("name", "size"), CASES)
def test_functional(name: str, size: int) -> None:
    passes("functional", name, size)
