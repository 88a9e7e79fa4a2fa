"""Skips the tests that compare with PyTorch, by their file's name, where it is not installed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest


class WithoutTorch(pytest.Module):
    """A test file that cannot run here."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Skip the file."""
        pytest.skip(
            "PyTorch, the oracle of these tests, is not installed: make test ORACLE=1",
            allow_module_level=True,
        )


def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    """Take files named ``test_…_against_torch.py`` out where PyTorch is not installed."""
    if module_path.stem.endswith("_against_torch") and find_spec("torch") is None:
        return WithoutTorch.from_parent(parent, path=module_path)
    return None


@pytest.fixture
def every_warning(once_warnings: None) -> Iterator[None]:
    """Let both libraries issue each time what they issue once in a process."""
    import torch

    import dovetail

    before = torch.is_warn_always_enabled()
    dovetail.set_warn_always(True)
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(before)
