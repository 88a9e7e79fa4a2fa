"""Set the machine up the same for both sides, and say what was measured where."""

from __future__ import annotations

import ctypes
import importlib
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3


def prepare(threads: int, *, tuned: bool) -> None:
    """Set the number of threads and malloc's thresholds; must run before NumPy is imported.

    Idle OpenBLAS workers would slow the other side down, so they sleep after about a millisecond
    (2**22 cycles): soon after a turn, but not between the products of one call, since waking them
    takes longer than most products. A pinned core type halves NumPy's products on newer
    processors. Untuned, glibc gives the memory of large arrays
    back to the system and takes page faults for it again with every call.
    """
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)
    os.environ["OPENBLAS_THREAD_TIMEOUT"] = "22"
    os.environ.pop("OPENBLAS_CORETYPE", None)
    if tuned and platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        libc.mallopt(M_MMAP_THRESHOLD, 1 << 30)
        libc.mallopt(M_TRIM_THRESHOLD, 1 << 30)


def torch(threads: int) -> Any:
    """Return PyTorch with as many threads, or None where it is not installed."""
    try:
        made = importlib.import_module("torch")
    except ImportError:
        return None
    made.set_num_threads(threads)
    return made


def git(*arguments: str) -> str:
    """Return what a git command prints, empty outside of a repository."""
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def about(threads: int, *, tuned: bool) -> dict[str, Any]:
    """Return what was measured, on what."""
    numpy, oracle = importlib.import_module("numpy"), torch(threads)
    changed = git("status", "--porcelain", "--untracked-files=no")
    return {
        "commit": (git("rev-parse", "--short=10", "HEAD") or "unknown") + ("+" if changed else ""),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "torch": oracle.__version__ if oracle is not None else "none",
        "threads": threads,
        "tuned malloc": tuned,
        "machine": platform.machine(),
    }


def result_path(about: dict[str, Any]) -> Path:
    """Return where the results of a commit are kept."""
    suffix = "" if about["threads"] == 1 else f"-{about['threads']}-threads"
    return RESULTS / f"{about['commit']}{suffix}.json"
