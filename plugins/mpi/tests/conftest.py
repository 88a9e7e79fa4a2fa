"""Leaves the tests out where there is no MPI to run them with."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("mpi4py") and find_spec("dovetail_mpi") else ["test_*.py"]
