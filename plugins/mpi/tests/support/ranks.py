"""Runs checks on several ranks: one start of ``mpiexec`` for all checks of a module.

A module of checks has functions ``check_...(rank, size)``. `results_of` runs them one after another
on every rank, and says of each whether it passed on all. Whatever hangs is killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import traceback
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, NamedTuple

CHECKS = Path(__file__).resolve().parents[1] / "checks"
LIMIT = 300
"""Seconds after which a program hangs, on a machine however busy."""


class Ended(NamedTuple):
    """How a program under ``mpiexec`` ended."""

    status: int
    output: str


def mpiexec(
    size: int, *arguments: str, limit: float = LIMIT, folder: Path | None = None, **environment: str
) -> Ended:
    """Run Python with `arguments` on `size` ranks, and return how it ended.

    Raises
    ------
    AssertionError
        If it has not ended after `limit` seconds; all its processes are killed.
    """
    command = Path(sys.executable).with_name("mpiexec")
    starter = str(command) if command.exists() else "mpiexec"
    process = subprocess.Popen(
        [starter, "-n", str(size), sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)  # mpiexec ends the ranks
        try:
            output, _ = process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
        raise AssertionError(f"{size} ranks did not end in {limit} s:\n{output}") from None
    return Ended(process.returncode, output)


def names_in(module: str) -> list[str]:
    """Return the names of the checks in a module of `CHECKS`."""
    text = (CHECKS / f"{module}.py").read_text()
    return [line[4:].split("(")[0] for line in text.splitlines() if line.startswith("def check_")]


@cache
def results_of(module: str, size: int) -> dict[str, str]:
    """Return, for each check that ran, "" or what went wrong."""
    ended = mpiexec(size, __file__, module)
    results: dict[str, str] = {}
    for line in ended.output.splitlines():
        if line.startswith("{"):
            for name, problem in json.loads(line).items():
                results[name] = results.get(name, "") + problem
    results[""] = f"status {ended.status}\n{ended.output[-3000:]}"
    return results


def passes(module: str, name: str, size: int) -> None:
    """Check that a check passed on all ranks."""
    results = results_of(module, size)
    assert name in results, f"{name} did not come to an end: {results['']}"
    assert not results[name], results[name]


def _run(module: str) -> None:
    """Run the checks of a module on this rank, and print what came of them, one line each."""
    import dovetail.distributed as dist

    spec = spec_from_file_location(module, CHECKS / f"{module}.py")
    assert spec is not None and spec.loader is not None
    checks: Any = module_from_spec(spec)
    spec.loader.exec_module(checks)
    from datetime import timedelta

    dist.init_process_group("mpi", timeout=timedelta(seconds=20))
    rank, size = dist.get_rank(), dist.get_world_size()
    for name in names_in(module):
        problem = ""
        try:
            getattr(checks, name)(rank, size)
        except Exception:
            problem = f"rank {rank} of {size}: {traceback.format_exc()}"
        every: list[Any] = [None] * size
        dist.all_gather_object(every, problem)
        if rank == 0:
            print(json.dumps({name: "".join(every)}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    _run(sys.argv[1])
