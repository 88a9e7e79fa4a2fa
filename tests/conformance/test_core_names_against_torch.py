"""Names of the core classes and modules that are absent: each has a row in docs/differences.md."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest
from fresh_interpreter import printed_by
from tests.support.core_names import CLASSES, MODULES

from dovetail_dispatcher.compiled_code import is_in_force

pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "differences.md"


def patterns() -> list[str]:
    """The patterns in the table of the page."""
    text = PAGE.read_text(encoding="utf-8").partition("## Names of the core\n")[2]
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| ")]
    return [name.strip("`") for row in rows[1:] for name in row[2].split()]


@cache
def all_absent_names() -> dict[str, list[str]]:
    """Return the names of each place, found in a fresh process: programs add names to classes."""
    program = f"""
import json, sys, warnings
sys.path.insert(0, {str(ROOT)!r})
warnings.simplefilter("ignore")
import torch, dovetail
from tests.support.core_names import CLASSES, MODULES, absent, place
places = (*MODULES, *CLASSES)
print(json.dumps({{x: [*absent(place(torch, x), place(dovetail, x))] for x in places}}))
"""
    found: dict[str, list[str]] = json.loads(printed_by(program))
    return found


def absent_names(path: str) -> list[str]:
    # A module that has warned has a registry.
    elsewhere = {"__warningregistry__"}
    if not is_in_force():
        elsewhere.add("__dlpack_c_exchange_api__")  # which only compiled code can have
    return [name for name in all_absent_names()[path] if name not in elsewhere]


@pytest.mark.parametrize("path", [*MODULES, *CLASSES])
def test_an_absent_name_has_a_row(path: str) -> None:
    known = patterns()
    names = absent_names(path)
    assert [name for name in sorted(names) if not any(fnmatchcase(name, p) for p in known)] == []


def test_a_row_is_about_absent_names() -> None:
    names = {name for path in (*MODULES, *CLASSES) for name in absent_names(path)}
    assert [each for each in patterns() if not any(fnmatchcase(name, each) for name in names)] == []
    assert len(patterns()) > 100
