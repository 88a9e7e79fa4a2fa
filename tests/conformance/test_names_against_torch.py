"""The table of names: each is there on both sides, and so is the test that calls them."""

from __future__ import annotations

import mmap
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "names.md"


class Row(NamedTuple):
    """A row of the table."""

    theirs: str
    ours: str
    test: str


def rows() -> list[Row]:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    cells = [re.findall(r"`([^`]+)`", line) for line in lines if line.startswith("| `")]
    return [Row(*each) for each in cells]


def resolved(name: str) -> Any:
    """Return what a dotted name stands for."""
    first, *parts = name.split(".")
    found, path = import_module(first), first
    for part in parts:
        path = f"{path}.{part}"
        try:
            found = getattr(found, part)
        except AttributeError:
            found = import_module(path)
    return found


@cache
def compiled() -> mmap.mmap:
    """Return the contents of PyTorch's library."""
    import torch

    (library,) = (Path(torch.__file__).parent / "lib").glob("libtorch_cpu.*")
    with library.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def test_every_row_has_three_names_and_none_comes_twice() -> None:
    found = rows()
    assert len(found) > 30
    assert len({row.theirs for row in found}) == len(found)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.theirs)
def test_the_names_of_a_row_are_there_and_its_test(row: Row) -> None:
    assert resolved(row.ours) is not None
    if "::" in row.theirs:
        symbol = "".join(f"{len(part)}{part}" for part in row.theirs.split("::"))
        assert compiled().find(symbol.encode()) >= 0, f"PyTorch has no {row.theirs}"
    else:
        resolved(row.theirs)
    file, _, test = row.test.partition("::")
    text = (TESTS / file).read_text(encoding="utf-8")
    assert test in text if test.startswith('"') else f"def {test}(" in text


def test_a_name_that_is_missing_is_found_out() -> None:
    with pytest.raises(ModuleNotFoundError):
        resolved("dovetail.autograd.nonsense")
    assert compiled().find(b"5torch8autograd6Engine8nonsense") < 0
