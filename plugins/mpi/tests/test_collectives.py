"""Collectives, messages and groups, on one to four ranks."""

import pytest
from ranks import names_in, passes

CASES = [(name, size) for size in (2, 3, 1, 4) for name in names_in("collectives")]


@pytest.mark.parametrize(("name", "size"), CASES)
def test_collectives(name: str, size: int) -> None:
    passes("collectives", name, size)
