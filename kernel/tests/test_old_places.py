import importlib
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dovetail_kernel import ArrayBackend, forward_old_places

TABLE = """
MOVED = {"kernels": "support", "kernels.sums": "families.sums"}
FORWARDED = {"generated.sums": "families.sums"}
"""


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


def test_a_module_that_has_moved_is_found_and_warns_at_the_line_of_the_import() -> None:
    with pytest.warns(DeprecationWarning, match=r"moved_house\.kernels") as warned:
        from moved_house.kernels.sums import Sums  # type: ignore[import-not-found]
    assert Sums is importlib.import_module("moved_house.families.sums").Sums
    assert {each.filename for each in warned} == {__file__}
    assert len(warned) == 2  # the package, and the module in it


def test_a_package_that_has_moved_has_its_names_and_no_folder() -> None:
    with pytest.warns(DeprecationWarning):
        old = importlib.import_module("moved_house.kernels")
    assert old.HERE == "moved_house.support"
    with pytest.raises(ModuleNotFoundError, match=r"moved_house\.kernels\.products"):
        importlib.import_module("moved_house.kernels.products")


def test_a_pickle_that_names_an_old_place_loads_without_a_warning() -> None:
    made = pickle.loads(b"cmoved_house.generated.sums\nSums\n.")
    assert made is importlib.import_module("moved_house.families.sums").Sums


def test_a_module_that_never_was_is_missing() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"moved_house\.nowhere"):
        importlib.import_module("moved_house.nowhere")


def test_a_method_of_a_backend_that_was_renamed_is_called_and_warns() -> None:
    with pytest.warns(DeprecationWarning, match="lift is called to_scalar_array now"):

        class Arrays(ArrayBackend):
            def lift(self, result: object) -> object:
                return [result]

    class Further(Arrays):
        """Inherits it, which is no reason to warn."""

    assert Further().to_scalar_array(1) == [1]
