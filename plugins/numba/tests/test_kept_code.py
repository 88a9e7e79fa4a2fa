"""Machine code is compiled once and kept; where it cannot be kept, everything works as well."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import dovetail, sys
with dovetail.use_overlay("numba"):
    assert "numba" not in sys.modules
    dovetail.relu(dovetail.randn(8))
    assert "numba" not in sys.modules  # a small call needs none
    x = dovetail.full((1 << 17,), 1.5)
    assert dovetail.nn.functional.hardswish(x)[0].item() == 1.125
assert "numba" in sys.modules
"""
SAYS = "dovetail-numba: compiling hardswish-float32; machine code is kept"


def run(program: str = PROGRAM, **environment: str) -> str:
    """Run a program, and return what it wrote to stderr."""
    clean = {name: value for name, value in os.environ.items() if "DOVETAIL" not in name}
    done = subprocess.run(
        [sys.executable, "-W", "ignore::FutureWarning", "-c", program],
        env={**clean, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_code_is_compiled_once_with_a_line_about_it(tmp_path: Path) -> None:
    assert f"{SAYS} in {tmp_path}" in run(DOVETAIL_NUMBA_CACHE=str(tmp_path))
    (kept,) = tmp_path.rglob("hardswish-float32-*")
    assert run(DOVETAIL_NUMBA_CACHE=str(tmp_path)) == ""
    kept.write_bytes(kept.read_bytes()[:100])  # as an interrupted copy leaves it
    assert SAYS in run(DOVETAIL_NUMBA_CACHE=str(tmp_path))
    assert run(DOVETAIL_NUMBA_CACHE=str(tmp_path)) == ""


def test_a_folder_that_cannot_be_written_is_replaced_by_a_temporary_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    said = run(DOVETAIL_NUMBA_CACHE=str(tmp_path / "file"), TMPDIR=str(tmp_path))
    assert f"machine code is kept in {tmp_path}/dovetail-numba-" in said
    assert "until this process ends" in said and "Name a folder that can" in said
    assert [each.name for each in tmp_path.iterdir()] == ["file"]  # it is gone


@pytest.mark.skipif(sys.platform == "win32", reason="folders of other kinds")
def test_without_any_folder_code_is_kept_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    program = f"import tempfile; tempfile.tempdir = {str(tmp_path / 'file')!r}\n{PROGRAM}"
    said = run(program, DOVETAIL_NUMBA_CACHE=str(tmp_path / "file"))
    assert "machine code is kept in memory alone" in said


def test_the_environment_puts_the_overlay_in_force_and_may_silence_it(tmp_path: Path) -> None:
    program = """
import dovetail
dovetail.nn.functional.hardswish(dovetail.randn(1 << 17))
assert "dovetail_numba" in str(dovetail.explain(dovetail.ops.aten.mish.default, dovetail.ones(2)))
"""
    said = run(
        program,
        DOVETAIL_OVERLAYS="numba",
        DOVETAIL_NUMBA_CACHE=str(tmp_path),
        DOVETAIL_NUMBA_PROGRESS="0",
    )
    assert said == ""


def test_without_numba_the_overlay_says_what_to_install(tmp_path: Path) -> None:
    program = """
import sys
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *more: None if name == "numba" else find(name, *more)
import dovetail
try:
    dovetail.use_overlay("numba")
except dovetail.PluginError as error:
    assert "the overlay needs Numba: pip install numba" in str(error), error
else:
    raise AssertionError
"""
    run(program)
