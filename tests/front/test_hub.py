"""`dovetail.hub`: models of a folder's ``hubconf.py``; nothing is downloaded."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import dovetail
from dovetail import hub

CONFIGURATION = '''
dependencies = ["numpy"]
from layers_of_this_folder import linear as _linear

def model(outputs, bias=True):
    """A layer."""
    return _linear(outputs, bias)

def other():
    return None
'''
LAYERS = """
import dovetail

def linear(outputs, bias):
    return dovetail.nn.Linear(2, outputs, bias=bias)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "hubconf.py").write_text(CONFIGURATION)
    (tmp_path / "layers_of_this_folder.py").write_text(LAYERS)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return str(tmp_path)


def test_a_folder_lists_explains_and_makes_its_models(folder: str) -> None:
    before = list(sys.path)
    assert hub.list(folder, source="local") == ["model", "other"]
    assert hub.help(folder, "model", source="local") == "A layer."
    made = hub.load(folder, "model", 3, bias=False, source="local")
    assert isinstance(made, dovetail.nn.Linear)
    assert (made.out_features, made.bias) == (3, None)
    assert sys.path == before


def test_what_is_not_there_is_named(folder: str, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"Cannot find callable missing .* It has: model, other"):
        hub.load(folder, "missing", source="local")
    with pytest.raises(FileNotFoundError, match=r"hubconf\.py: no such file"):
        hub.list(str(tmp_path / "nowhere"))
    (tmp_path / "hubconf.py").write_text("dependencies = ['no_such_package']\ndef model(): ...")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package"):
        hub.load(folder, "model", source="local")


def test_nothing_is_downloaded() -> None:
    for refused in (
        lambda: hub.load("pytorch/vision", "resnet18"),
        lambda: hub.load_state_dict_from_url("https://example.org/x.pth"),
        lambda: hub.download_url_to_file("https://example.org/x.pth", "x.pth"),
    ):
        with pytest.raises(RuntimeError, match=r"nothing is downloaded\. Fetch it yourself"):
            refused()


def test_the_folder_of_programs_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_HOME", "/somewhere")
    assert hub.get_dir() == str(Path("/somewhere") / "hub")
    monkeypatch.setattr(hub, "_folder", None)
    hub.set_dir("elsewhere")
    assert hub.get_dir() == "elsewhere"
