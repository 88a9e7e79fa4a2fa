"""Names of the core classes and modules that are absent: each has a row in docs/differences.md."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest
from tests.support.core_names import CLASSES, MODULES, absent, place

import dovetail

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

PAGE = Path(__file__).parents[2] / "docs" / "differences.md"


def patterns() -> list[str]:
    """The patterns in the table of the page."""
    text = PAGE.read_text(encoding="utf-8").partition("## Names of the core\n")[2]
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| ")]
    return [name.strip("`") for row in rows[1:] for name in row[2].split()]


@cache
def absent_names(path: str) -> frozenset[str]:
    names = frozenset(absent(place(torch, path), place(dovetail, path)))
    return names - {"__warningregistry__"}  # of a module that has warned


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", [*MODULES, *CLASSES])
def test_an_absent_name_has_a_row(path: str) -> None:
    known = patterns()
    names = absent_names(path)
    assert [name for name in sorted(names) if not any(fnmatchcase(name, p) for p in known)] == []


@pytest.mark.filterwarnings("ignore")
def test_a_row_is_about_absent_names() -> None:
    names = {name for path in (*MODULES, *CLASSES) for name in absent_names(path)}
    assert [each for each in patterns() if not any(fnmatchcase(name, each) for name in names)] == []
    assert len(patterns()) > 100
