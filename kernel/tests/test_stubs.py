"""Packages whose names stand in a stub."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dovetail_kernel import public_places

INIT = """\
from dovetail_kernel import attach_stub
__getattr__ = attach_stub(__name__, publishes={})
"""
FILES = {
    "__init__.py": INIT.format(True),
    "__init__.pyi": "from . import tools\nfrom .shapes import Circle as Circle\n",
    "tools.py": "PLIERS = 1\n",
    "shapes.py": "class Circle: ...\n",
    "inner/__init__.py": INIT.format(False),
    "inner/__init__.pyi": "from ..shapes import Circle as Circle\nfrom ..tools import PLIERS\n",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A package of this library's, with another inside."""
    for name in ("_classes", "_lazy", "_awaited"):
        monkeypatch.setattr(public_places, name, {})
    for name, text in FILES.items():
        path = tmp_path / "dovetail_yard" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("dovetail_yard")
    for name in [each for each in sys.modules if each.startswith("dovetail_yard")]:
        del sys.modules[name]


def test_a_submodule_of_the_stub_is_imported_when_it_is_asked_for(package: Any) -> None:
    assert "dovetail_yard.tools" not in sys.modules
    assert "tools" in dir(package)
    assert package.tools.PLIERS == 1


def test_a_name_is_imported_when_it_is_asked_for_and_names_the_package(package: Any) -> None:
    assert "dovetail_yard.shapes" not in sys.modules
    assert package.__all__ == ["Circle"]
    assert package.Circle.__module__ == "dovetail_yard"


def test_a_class_names_the_package_whoever_imports_its_module(package: Any) -> None:
    shapes = importlib.import_module("dovetail_yard.shapes")
    public_places.publish_loaded()
    assert shapes.Circle.__module__ == package.__name__


def test_a_stub_has_names_of_the_packages_around(package: Any) -> None:
    inner = importlib.import_module("dovetail_yard.inner")
    assert inner.Circle is package.Circle
    assert inner.__all__ == ["Circle"] and inner.PLIERS == 1


def test_a_name_that_is_not_in_the_stub_is_missing(package: Any) -> None:
    with pytest.raises(AttributeError, match=r"'dovetail_yard'.*'hammer'"):
        _ = package.hammer


@pytest.mark.parametrize(
    "listed, names", [("", ["Square", "area"]), ("__all__ = ['SIDES']\n", ["SIDES"])]
)
def test_a_star_takes_what_a_module_lists_or_else_defines(
    package: Any, tmp_path: Path, listed: str, names: list[str]
) -> None:
    inside = tmp_path / "dovetail_yard" / "figures"
    inside.mkdir()
    (inside / "__init__.py").write_text(INIT.format(False))
    (inside / "__init__.pyi").write_text("from .squares import *\n")
    (inside / "squares.py").write_text(
        f"from os.path import join\nfrom ..shapes import Circle\n{listed}SIDES = 4\n"
        "class Square(Circle): ...\nclass _Corner: ...\ndef area(side): return side**2\n"
    )
    assert importlib.import_module("dovetail_yard.figures").__all__ == names
