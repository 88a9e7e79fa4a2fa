"""Tests that a library wrote for itself and PyTorch pass under ``dovetail run``, as they stand."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.cpu_only(reason="the library's own tests choose their devices")

TESTS = {
    "test_einsum": "",
    "test_examples": "",
    "test_layers": "not test_torch_layer",  # it traces a module to a graph, which is refused
    "test_ops": "",
    "test_packing": "",
}


@pytest.mark.parametrize("module", TESTS)
def test_einops_passes_its_own_tests_for_pytorch(module: str, tmp_path: Path) -> None:
    if importlib.util.find_spec("einops") is None:
        pytest.skip("einops is not installed")
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:dovetail"]
    words += ["--pyargs", f"einops.tests.{module}", "-k", TESTS[module]]
    outcome = subprocess.run(
        [sys.executable, "-m", "dovetail", "run", "-q", *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"EINOPS_TEST_BACKENDS": "numpy,torch"},
        check=False,
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    assert re.search(r"\d+ passed", outcome.stdout)
