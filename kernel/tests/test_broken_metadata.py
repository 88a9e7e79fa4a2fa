"""Distributions of strangers whose metadata is broken: they are named, and break nothing else."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from types import ModuleType

import pytest

from dovetail_kernel.errors import distribution_of, forget_distributions
from dovetail_kernel.plugins.manager import PluginManager

METADATA = b"Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n"
POINTS = b"[dovetail.libraries]\nodd = odd_module\n"

UNREADABLE = {
    "entry points that are no text": {"METADATA": METADATA, "entry_points.txt": b"\xff\xfe[x]"},
    "an entry point without value": {
        "METADATA": METADATA,
        "entry_points.txt": b"[dovetail.libraries]\nodd\n",
    },
    "metadata that is no text": {"METADATA": b"\xff\xfe\x00", "entry_points.txt": POINTS},
}
READABLE = {
    "no name": {"METADATA": b"Metadata-Version: 2.1\nVersion: 1.0\n", "entry_points.txt": POINTS},
    "no version": {
        "METADATA": b"Metadata-Version: 2.1\nName: stranger\n",
        "entry_points.txt": POINTS,
    },
    "empty metadata": {"METADATA": b"", "entry_points.txt": POINTS},
    "no metadata": {"entry_points.txt": POINTS},
    "a record that is no text": {
        "METADATA": METADATA,
        "RECORD": b'\xff\xff\n"unclosed,,',
        "entry_points.txt": POINTS,
    },
    "an origin that is no JSON": {
        "METADATA": METADATA,
        "direct_url.json": b"{no",
        "entry_points.txt": POINTS,
    },
    "an origin that is a list": {
        "METADATA": METADATA,
        "direct_url.json": b"[1]",
        "entry_points.txt": POINTS,
    },
}


def install(files: dict[str, bytes], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = folder / "stranger-1.0.dist-info"
    info.mkdir()
    for name, content in files.items():
        (info / name).write_bytes(content)
    good = folder / "decent-1.0.dist-info"
    good.mkdir()
    (good / "METADATA").write_text("Metadata-Version: 2.1\nName: decent\nVersion: 1.0\n")
    (good / "entry_points.txt").write_text("[dovetail.libraries]\nfine = fine_module\n")
    (good / "top_level.txt").write_text("fine_module\n")
    monkeypatch.syspath_prepend(str(folder))
    forget_distributions()


def named(manager: PluginManager) -> dict[str, str]:
    return {each.name: each.distribution for each in manager.list_plugins()}


@pytest.mark.parametrize("case", UNREADABLE)
def test_a_distribution_that_cannot_be_read_is_named_and_left_out(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(UNREADABLE[case], tmp_path, monkeypatch)
    with pytest.warns(UserWarning, match="metadata of the distribution stranger in .*stranger-1.0"):
        found = named(PluginManager())
    assert found["fine"] == "decent"
    assert "odd" not in found


@pytest.mark.parametrize("case", READABLE)
def test_a_plugin_is_found_though_other_metadata_is_broken(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(READABLE[case], tmp_path, monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = named(PluginManager())
    assert (found["fine"], found["odd"]) == ("decent", "stranger")


@pytest.mark.parametrize("case", [*UNREADABLE, *READABLE])
def test_where_code_is_from_is_said_though_metadata_is_broken(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install({**UNREADABLE, **READABLE}[case], tmp_path, monkeypatch)
    module = ModuleType("fine_module")
    module.__file__ = str(tmp_path / "fine_module.py")
    monkeypatch.setitem(sys.modules, "fine_module", module)
    assert distribution_of(module) == "decent"
    assert distribution_of("odd_module") is None
    forget_distributions()


def test_a_distribution_that_lists_its_files_alone_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = ("listed_package/__init__.py", "listed_package/inner/deep.py", "listed_module.py")
    for file in listed:  # some readers of records leave out what is not there
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    record = "".join([f"{file},,\n" for file in listed]).encode()
    install({"METADATA": METADATA, "RECORD": record}, tmp_path, monkeypatch)
    assert distribution_of("listed_package.inner.deep") == "stranger"
    assert distribution_of("listed_module") == "stranger"
    assert distribution_of("inner") is distribution_of("deep") is None
    forget_distributions()
