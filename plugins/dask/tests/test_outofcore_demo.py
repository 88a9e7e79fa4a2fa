"""The demo with a store of 0.2 GiB: a worker that is killed changes nothing that it prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[3] / "examples" / "outofcore" / "demo.py"

pytest.importorskip("zarr", reason="the store is Zarr's")
pytest.importorskip("distributed", reason="workers are those of distributed")


def losses(folder, *options):
    """Run the demo, and return the losses it prints, to the last bit, and all it prints."""
    command = [sys.executable, str(DEMO), "--folder", str(folder), "--gib", "0.2", *options]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=900, env=environment, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return re.findall(r"losses (.*)", ran.stdout), ran.stdout


@pytest.mark.skipif(not DEMO.exists(), reason="the examples are not installed")
def test_a_killed_worker_changes_no_loss(tmp_path):
    alone, printed = losses(tmp_path, "--steps", "1", "--compare")
    assert len(alone) == 2
    assert float(re.search(r"relative difference (\S+)", printed)[1]) < 1e-4
    killed, printed = losses(tmp_path, "--steps", "1", "--workers", "2", "--kill-one", "0.5")
    assert "is killed" in printed
    assert [float.fromhex(each) for each in killed] == pytest.approx(
        [float.fromhex(each) for each in alone], rel=1e-6
    )
