"""DistributedDataParallel, on two and three ranks."""

import pytest
from ranks import names_in, passes

CASES = [(name, size) for size in (2, 3) for name in names_in("data_parallel")]


@pytest.mark.parametrize(("name", "size"), CASES)
def test_data_parallel(name: str, size: int) -> None:
    passes("data_parallel", name, size)
