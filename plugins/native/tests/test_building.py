"""Wheels with and without a compiler, and files that do not compile."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The distribution, copied without what was compiled in place."""
    left_out = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__", "build", "tests")
    shutil.copytree(ROOT, tmp_path / "native", ignore=left_out)
    return tmp_path / "native"


def build(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Build a wheel into the folder ``dist``, without optimization, which takes a minute."""
    return subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel"],
        cwd=folder,
        env={**os.environ, "CFLAGS": "-O0", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def wheel(folder: Path) -> Path:
    (found,) = (folder / "dist").glob("*.whl")
    return found


def compiled_files(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return [each for each in archive.namelist() if each.endswith((".so", ".pyd"))]


def test_wheel_without_a_compiler_is_pure(copied: Path) -> None:
    done = build(copied, CC="/bin/false")
    assert done.returncode == 0, done.stdout + done.stderr
    assert wheel(copied).name.endswith("-py3-none-any.whl")
    assert compiled_files(wheel(copied)) == []


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_wheel_with_a_compiler_has_the_core_and_a_tag(copied: Path) -> None:
    done = build(copied)
    assert done.returncode == 0, done.stdout + done.stderr
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert f"-{tag}-{tag}-" in wheel(copied).name
    (module,) = compiled_files(wheel(copied))
    assert module.startswith("dovetail_native/_core.")


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_file_that_does_not_compile_is_an_error(copied: Path) -> None:
    (copied / "core" / "broken.c").write_text("int broken(void) { return nothing; }\n")
    done = build(copied)
    assert done.returncode != 0
    assert "The core does not compile." in done.stdout + done.stderr
    assert not (copied / "dist").exists() or not list((copied / "dist").glob("*.whl"))
