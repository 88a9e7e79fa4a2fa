import importlib
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dovetail_kernel import forward_old_places

TABLE = 'OLD_PLACES = {"support": "other kernels", "families.sums": "kernels.sums generated.sums"}'


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package in which modules have moved."""
    name = "moved_house"
    for folder in ("", "families", "support", "generated"):
        (tmp_path / name / folder).mkdir()
        (tmp_path / name / folder / "__init__.py").write_text("HERE = __name__\n")
    (tmp_path / name / "families" / "sums.py").write_text("class Sums: ...\n")
    (tmp_path / name / "support" / "sums.py").write_text("raise AssertionError('of another name')")
    (tmp_path / name / "old_places.py").write_text(TABLE)
    monkeypatch.syspath_prepend(tmp_path)
    forward_old_places(name, f"{name}.old_places")
    yield name
    for module in [each for each in sys.modules if each.startswith(name)]:
        del sys.modules[module]


@pytest.mark.parametrize("place", ["kernels.sums", "generated.sums"])
def test_a_pickle_that_names_an_old_place_loads(place: str) -> None:
    made = pickle.loads(f"cmoved_house.{place}\nSums\n.".encode())
    assert made is importlib.import_module("moved_house.families.sums").Sums


def test_a_package_that_has_moved_has_its_names_and_no_folder() -> None:
    old = importlib.import_module("moved_house.kernels")
    assert old.HERE == "moved_house.support"
    with pytest.raises(ModuleNotFoundError, match=r"moved_house\.kernels\.products"):
        importlib.import_module("moved_house.kernels.products")


@pytest.mark.parametrize("name", ["moved_house.nowhere", "a_house_that_never_was"])
def test_a_module_that_never_was_is_missing(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=name):
        importlib.import_module(name)
