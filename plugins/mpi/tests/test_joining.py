"""`Join`, on two and three ranks."""

import pytest
from ranks import names_in, passes


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("name", names_in("joining"))
def test_joining(name: str, size: int) -> None:
    passes("joining", name, size)
