"""One program for two processes, run by PyTorch with gloo and by Dovetail with MPI."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    find_spec("dovetail_mpi") is None or find_spec("mpi4py") is None,
    reason="dovetail-mpi is not installed: make test-mpi",
)

PROGRAM = Path(__file__).resolve().parents[2] / "plugins/mpi/tests/checks/torch_program.py"


def torch_lines() -> list[str]:
    """Return what rank 0 prints under PyTorch."""
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    variables = {
        "BACKEND": "gloo",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": "2",
    }
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", str(PROGRAM)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | variables | {"RANK": str(rank)},
        )
        for rank in range(2)
    ]
    try:
        outputs = [process.communicate(timeout=120) for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert processes[0].returncode == 0, outputs[0][1]
    return outputs[0][0].splitlines()


def test_a_program_for_two_processes_prints_what_it_prints_under_pytorch() -> None:
    from ranks import mpiexec

    ended = mpiexec(2, "-m", "dovetail", "run", str(PROGRAM), limit=120, BACKEND="mpi")
    assert ended.status == 0, ended.output
    ours = [line for line in ended.output.splitlines() if not line.startswith("dovetail ")]
    assert ours == torch_lines()
