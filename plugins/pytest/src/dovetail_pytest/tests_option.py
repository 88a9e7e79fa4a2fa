"""``--tests 2/30``: a suite that takes hours runs for a part of its tests, here the second of
thirty; ``all`` runs them all.

Which part a test belongs to depends on its id alone: so the parts together are the whole, on every
machine and in every process. Tests of every operator are parted like all others, where
``--operators`` keeps the overloads and the checks of one operator together.
"""

from __future__ import annotations

import zlib

import pytest

from .parts import PartOption

option = PartOption("tests", "run one part of the tests")

pytest_addoption = option.pytest_addoption
pytest_configure = option.pytest_configure
pytest_report_header = option.pytest_report_header
pytest_terminal_summary = option.pytest_terminal_summary


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what belongs to other parts."""
    chosen = option.chosen(config)
    if chosen is None:
        return
    part, parts = chosen
    kept: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        here = zlib.crc32(item.nodeid.encode()) % parts == part - 1
        (kept if here else others).append(item)
    items[:] = kept
    if others:
        config.hook.pytest_deselected(items=others)
