"""The demo, made small: killed, and resumed by another number of processes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).resolve().parents[3] / "examples" / "digits" / "distributed_demo.py"


@pytest.mark.skipif(not DEMO.exists(), reason="the examples are in the repository alone")
def test_digits_are_recognized_after_a_kill() -> None:
    pytest.importorskip("sklearn")
    ended = subprocess.run(
        [sys.executable, str(DEMO), "--epochs", "2"],
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "3 processes go on in epoch 1 after 528 samples" in ended.stdout
    assert [float(text) < 1e-4 for text in re.findall(r"against 1: +(\S+)", ended.stdout)] == [
        True,
        True,
    ]
    accuracy = re.search(r"test accuracy: ([\d.]+)%", ended.stdout)
    assert accuracy is not None and float(accuracy[1]) > 90
