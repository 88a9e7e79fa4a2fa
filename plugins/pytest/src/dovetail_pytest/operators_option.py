"""``--operators 2/3``: tests of every operator run for a part of the operators, here the second of
three; ``all`` runs them for all.

``@pytest.mark.operators("info", infos)`` gives a test its operators, as ``parametrize`` would::

    @pytest.mark.operators("info", op_infos("vision"))
    def test_results_are_contiguous(info):
        ...

Operators are chosen when tests are collected: those that are left out cost nothing. Which part an
operator belongs to depends on its name alone, and all overloads of a name are in one: so the parts
together are the whole, on every machine and in every process.
"""

from __future__ import annotations

import zlib
from typing import Any

import pytest

from .parts import PartOption

MARKER = "operators"

option = PartOption(
    MARKER,
    "run the tests of every operator for one part of the operators",
    variable="DOVETAIL_OPERATORS",
)

pytest_addoption = option.pytest_addoption
pytest_report_header = option.pytest_report_header
pytest_terminal_summary = option.pytest_terminal_summary


def pytest_configure(config: pytest.Config) -> None:
    """Add the marker, and check the option.

    Raises
    ------
    UsageError
        If it is neither ``all`` nor a part.
    """
    config.addinivalue_line(
        "markers",
        "operators(argname, operators, ids=None): a test of every operator: of the part of them "
        "that --operators says",
    )
    option.pytest_configure(config)


def chosen_operators(config: pytest.Config, operators: Any) -> list[Any]:
    """Return those of some operators, given as `OpInfo` or by qualified name, that are to be
    tested.
    """
    chosen = option.chosen(config)
    if chosen is None:
        return list(operators)
    part, parts = chosen
    return [each for each in operators if _place(_name_of(each)) % parts == part - 1]


def _name_of(operator: Any) -> str:
    name: str = operator if isinstance(operator, str) else operator.name
    return name


def _place(name: str) -> int:
    """Return a number that is the same for all overloads of a name."""
    return zlib.crc32(name.partition(".")[0].encode())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test with the marker its operators, with their names as ids."""
    for marker in metafunc.definition.iter_markers(MARKER):
        argname, operators = marker.args
        chosen = chosen_operators(metafunc.config, operators)
        ids = marker.kwargs.get("ids") or (lambda each: _name_of(each).partition("::")[2])
        metafunc.parametrize(argname, chosen, ids=[ids(each) for each in chosen])
