"""Autograd needs no base library: a part of its tests runs on the small one, in another process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest
from small_library import IS_SMALL

FILES = ("hooks", "function", "batches", "dual_tensors", "views_and_writes", "functional")
NEEDED = {"dovetail-kernel", "dovetail-dispatcher", "dovetail-autograd"}


@pytest.mark.skipif(IS_SMALL, reason="this is that process")
def test_its_tests_pass_on_a_small_library() -> None:
    here = Path(__file__).parent
    names = {str(each.metadata["Name"]) for each in distributions()}
    others = {name for name in names if name.startswith("dovetail")} - NEEDED
    settings = {"DOVETAIL_BLOCK": " ".join(sorted(others)), "DOVETAIL_NATIVE": "0"}
    command = [sys.executable, "-m", "pytest", "-q", "--no-header"]
    command += ["-p", "no:cacheprovider", "-p", "no:dovetail"]
    command += [str(here / f"test_{name}.py") for name in FILES]
    done = subprocess.run(
        command, env={**os.environ, **settings}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    counted = re.search(r"(\d+) passed", done.stdout)
    assert counted is not None
    assert int(counted[1]) > 300
