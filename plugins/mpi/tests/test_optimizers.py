"""Optimizers that are divided among ranks."""

import pytest
from ranks import names_in, passes


@pytest.mark.parametrize("name", names_in("optimizers"))
def test_optimizers(name: str) -> None:
    passes("optimizers", name, 2)
