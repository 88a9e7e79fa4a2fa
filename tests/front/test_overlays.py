"""`use_overlay` and `DOVETAIL_OVERLAYS`, which switch on kernels with conditions by a name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

PLUGIN = """
import dovetail

@dovetail.library.hookimpl
def dovetail_load():
    library = dovetail.library.Library("aten", "IMPL")
    library.array_impl("exp", lambda x: x + 40, "CPU", when=lambda x: x.size == 2, why="a pair")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a distribution of one overlay, ``pairs``."""
    (tmp_path / "acme_pairs.py").write_text(PLUGIN)
    info = tmp_path / "acme_pairs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-pairs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[dovetail.overlays]\npairs = acme_pairs\n")
    return tmp_path


def run(program: str, folder: Path, *options: str, **environment: str) -> list[str]:
    result = subprocess.run(
        [sys.executable, *options, "-c", dedent(program)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(folder)} | environment,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


def test_the_kernels_are_in_force_in_the_block_for_the_calls_that_they_take(folder: Path) -> None:
    printed = run(
        """
        import warnings
        import dovetail
        pair, single = dovetail.zeros(2), dovetail.zeros(1)
        def show():
            print(float(pair.exp()[0]), float(single.exp()))
        show()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with dovetail.use_overlay("pairs"):
                show()
        show()
        print([str(each.filename) for each in caught], caught[0].category.__name__)
        """,
        folder,
    )
    assert printed == ["1.0", "1.0", "40.0", "1.0", "1.0", "1.0", "['<string>']", "FutureWarning"]


def test_the_environment_switches_them_on(folder: Path) -> None:
    program = """
        import dovetail
        print(float(dovetail.zeros(2).exp()[0]), float(dovetail.zeros(1).exp()))
    """
    options = ("-W", "ignore::FutureWarning")
    assert run(program, folder, *options, DOVETAIL_OVERLAYS="pairs") == ["40.0", "1.0"]
