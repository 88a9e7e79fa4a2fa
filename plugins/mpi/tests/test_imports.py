"""What imports MPI, and when."""

import subprocess
import sys


def test_mpi_is_imported_when_a_group_is_made() -> None:
    program = """
import sys, dovetail
print("dovetail_mpi" in sys.modules, "mpi4py" in sys.modules)
import dovetail.distributed as dist
print("dovetail_mpi" in sys.modules, "mpi4py.MPI" in sys.modules, dist.is_initialized())
"""
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "False", "True", "False", "False"]
