"""The parts that error messages are made of."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path

import pluggy
import pytest

from dovetail_kernel.errors import (
    PluginError,
    PluginNotFoundError,
    did_you_mean,
    distribution_of,
    forget_distributions,
    where,
)


def test_a_close_word_is_suggested_whatever_its_case() -> None:
    assert did_you_mean("CUDAA", ["cpu", "cuda"]) == " Did you mean 'cuda'?"


def test_a_far_word_suggests_nothing() -> None:
    assert did_you_mean("zebra", ["cpu", "cuda"]) == ""
    assert did_you_mean("zebra", ["", "cuda"]) == ""


@pytest.mark.parametrize(("word", "meant"), [("GPU", "CUDA"), ("nvidia", "CUDA"), ("host", "cpu")])
def test_a_word_from_elsewhere_suggests_the_one_here(word: str, meant: str) -> None:
    assert did_you_mean(word, ["", "cpu", "CUDA"]) == f" Did you mean {meant!r}?"
    assert did_you_mean(word, ["meta"]) == ""


def test_plugin_errors_are_runtime_errors() -> None:
    assert issubclass(PluginNotFoundError, PluginError) and issubclass(PluginError, RuntimeError)


def test_where_names_the_line_of_the_caller() -> None:
    filename, _, line = where().rpartition(":")
    assert filename == __file__ and int(line) == sys._getframe().f_lineno - 1


def test_where_passes_over_the_packages_named() -> None:
    inner = types.ModuleType("inner.part")
    exec("def call(where, skip): return where(skip)", inner.__dict__)
    assert inner.call(where, ["inner"]).startswith(__file__)
    assert inner.call(where, []) == "<string>:1"


def test_the_distribution_of_a_module_or_its_file() -> None:
    assert (
        distribution_of(pluggy)
        == distribution_of("pluggy")
        == distribution_of(pluggy.__file__)
        == "pluggy"
    )


def test_the_standard_library_comes_with_no_distribution() -> None:
    assert distribution_of(json) is None


def test_a_module_without_a_file_comes_with_no_distribution() -> None:
    prompt = types.ModuleType("__main__")
    namespace = types.ModuleType("namespace_of_nobody")
    namespace.__file__ = None
    assert [distribution_of(module) for module in (prompt, namespace, sys)] == [None] * 3
    assert distribution_of("sys") is None


def test_an_editable_install_is_known_by_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "checkout" / "src" / "acme_vision.py"
    source.parent.mkdir(parents=True)
    source.write_text("")
    info = tmp_path / "site" / "acme_vision-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-vision\nVersion: 1.2\n")
    origin = {"url": (tmp_path / "checkout").as_uri(), "dir_info": {"editable": True}}
    (info / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.syspath_prepend(str(source.parent))
    forget_distributions()
    assert distribution_of(str(source)) == "acme-vision"
