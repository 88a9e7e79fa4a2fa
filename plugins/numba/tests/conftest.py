"""Leaves the tests out where Numba is not installed, and begins each without the overlay."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from overlay_samples import SEED

collect_ignore_glob = [] if find_spec("numba") and find_spec("dovetail_numba") else ["test_*.py"]


def pytest_report_header() -> str:
    """Return the line that says which sample is run."""
    return f"overlay: DOVETAIL_FIRST_OVERLAID={SEED} runs the same sample again"


@pytest.fixture(autouse=True)
def without_overlay() -> Iterator[None]:
    """Take the overlay out, if all tests run with it, and put it back."""
    import dovetail
    from dovetail_kernel import plugin_manager

    was_used = "numba" in plugin_manager.overlays.names
    plugin_manager.overlays.remove("numba")
    yield
    plugin_manager.overlays.remove("numba")
    if was_used:
        dovetail.use_overlay("numba")


@pytest.fixture
def loops_for_all_sizes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put the overlay in force for every size, so that small arrays run through the loops."""
    import dovetail

    monkeypatch.setenv("DOVETAIL_NUMBA_LEAST", "1")
    with dovetail.use_overlay("numba"):
        yield
