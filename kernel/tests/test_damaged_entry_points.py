"""Random damages of what distributions of strangers say about themselves, and random values of the
variables that choose plugins: plugins of others are listed, and those damaged are refused.

`DOVETAIL_FILES=100000` tries more of them, `DOVETAIL_FIRST_FILE` begins elsewhere.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from random import Random

import pytest

from dovetail_kernel.errors import PluginError, forget_distributions
from dovetail_kernel.plugins.entries import GROUPS
from dovetail_kernel.plugins.manager import PluginManager

FILES = int(os.environ.get("DOVETAIL_FILES", "800"))
FIRST = int(os.environ.get("DOVETAIL_FIRST_FILE", "0"))
STRANGERS = 8
"""Number of damaged distributions in each list of plugins."""

METADATA = b"Metadata-Version: 2.1\nName: stranger%d\nVersion: 1.0\n"
WORDS = (
    *(b"[", b"]", b"=", b":", b"\n", b" ", b"\x00", b"\x1b[31m", b"\xff", b"[/red]", b".", b"-"),
    *("ſ\u202e\u2028".encode(), b"%(x)s", b"cpu", b"aten", b"aten.cpu", b"A" * 5000, b"\r", b"#"),
    *(b"os:system", b"__main__", b"sys:exit", b"nowhere.at.all", b"dovetail_kernel:Device", b"\t"),
)


def entry_points(random: Random) -> bytes:
    """Return the text of an ``entry_points.txt`` with all groups."""
    return b"".join(
        b"[%s]\nodd%d = %s\n" % (group.encode(), number, random.choice(WORDS))
        for number, group in enumerate(GROUPS)
    )


def damaged(random: Random, text: bytes) -> bytes:
    """Return `text` with words put in, cut out or repeated."""
    content = bytearray(text)
    for _ in range(random.randrange(4)):
        at = random.randrange(len(content) + 1)
        to = min(len(content), at + random.choice((0, 0, 1, 3, 20)))
        content[at:to] = random.choice((*WORDS, bytes(content[at:to]) * 2))
    return bytes(content)


def test_damaged_entry_points_and_variables_are_refused_and_hide_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [tmp_path / f"stranger{number}-1.0.dist-info" for number in range(STRANGERS)]
    good = tmp_path / "decent-1.0.dist-info"
    for each in (*folders, good):
        each.mkdir()
    (good / "METADATA").write_text("Metadata-Version: 2.1\nName: decent\nVersion: 1.0\n")
    (good / "entry_points.txt").write_text("[dovetail.modules]\nfine = decent_module\n")
    (tmp_path / "decent_module.py").write_text("")
    own = [each for each in sys.path if "-packages" not in each]  # of Python itself
    monkeypatch.setattr(sys, "path", [str(tmp_path), *own])
    warned = loaded = 0
    for seed in range(FIRST, FIRST + FILES, STRANGERS):
        for number, odd in enumerate(folders):
            random = Random(seed + number)
            (odd / "METADATA").write_bytes(damaged(random, METADATA % number))
            (odd / "entry_points.txt").write_bytes(damaged(random, entry_points(random)))
        value = b" ".join(random.choices(WORDS, k=random.randrange(5))).replace(b"\0", b"")
        monkeypatch.setenv("DOVETAIL_BLOCK", os.fsdecode(value))
        forget_distributions()
        manager = PluginManager()
        try:
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                records = manager.list_plugins()
            warned += bool(found)
            assert all([each.category is UserWarning for each in found])
            assert "decent" in [each.distribution for each in records]
            for each in records:
                if each.group == "dovetail.modules":
                    try:
                        manager.load_module(each.name)
                        loaded += 1
                    except PluginError as error:
                        assert str(error).isprintable() or "\n" in str(error)
        except Exception as error:
            raise AssertionError(f"files from {seed}, DOVETAIL_BLOCK={value!r}") from error
    assert loaded > FILES / STRANGERS / 2
    assert FILES < 50 or warned


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the variable back."""
    monkeypatch.setenv("DOVETAIL_BLOCK", "")
    forget_distributions()
