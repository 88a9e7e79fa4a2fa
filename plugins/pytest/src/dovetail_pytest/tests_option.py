"""``--tests 2/30``: a suite that takes hours runs for a part of its tests, here the second of
thirty; ``all`` runs them all.

Which part a test belongs to depends on its id alone: so the parts together are the whole, on every
machine and in every process. Tests of every operator are parted like all others, where
``--operators`` keeps the overloads and the checks of one operator together.
"""

from __future__ import annotations

import zlib

import pytest

from .parts import ALL, part_in, report_part


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("dovetail").addoption(
        "--tests",
        metavar="PART/PARTS",
        default=ALL,
        help=f"run one part of the tests, such as 2/30, or '{ALL}' (default: {ALL})",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Check the option.

    Raises
    ------
    UsageError
        If it is neither ``all`` nor a part.
    """
    _part(config)


def _part(config: pytest.Config) -> tuple[int, int] | None:
    return part_in(config.getoption("--tests"), "--tests")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say which part it is, and how to have it again."""
    return report_part("tests", _part(config))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say it at the end where ``-q`` leaves out the header."""
    said = pytest_report_header(config)
    if said is not None and config.get_verbosity() < 0:
        terminalreporter.write_line(said)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what belongs to other parts."""
    chosen = _part(config)
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
