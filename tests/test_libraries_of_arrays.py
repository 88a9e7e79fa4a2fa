"""Libraries that take arrays of the Array API take tensors, and give tensors back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "support" / "array_api_libraries.py"


@pytest.mark.parametrize("library", ["scipy", "sklearn", "array_api_extra", "einops"])
@pytest.mark.cpu_only(reason="these libraries compute with NumPy's arrays")
def test_a_library_gives_for_tensors_what_it_gives_for_arrays(library: str) -> None:
    pytest.importorskip(library)
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", str(PROGRAM), library],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout.splitlines()[-1]) == []


def test_gradients_go_through_einops() -> None:
    einops = pytest.importorskip("einops")
    import dovetail
    import dovetail.utils.einops_backend

    x = dovetail.arange(6.0).reshape(2, 3).requires_grad_()
    (einops.rearrange(x, "a b -> (b a)") * dovetail.arange(6.0)).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]
