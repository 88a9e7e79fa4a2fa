"""What one gradient over a Zarr store takes: by autograd, with what is saved computed again
(`recompute`), and written by hand for Dask alone.

    python plugins/dask/benchmarks/out_of_core.py --gib 8 24 100 --workers 0 2

Every figure is of processes of its own: seconds of the pass with those to note it, and the most
memory that was resident in the process that asks and in the workers. `--models logarithm` takes the
gradient of the logarithm of the loss: autograd needs the loss of all samples before it can begin.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[3] / "examples" / "outofcore"))

from store import make_store

import dovetail
from dovetail.nn import functional as F

HOW = ("by hand", "autograd", "recompute")


def logistic(x: Any, y: Any, weight: np.ndarray) -> Any:
    """Return the gradient of logistic regression as one writes it for Dask alone."""
    away = 1 / (1 + da.exp(-(x @ weight))) - y
    return away @ x / x.shape[0]


def logarithm(x: Any, y: Any, weight: np.ndarray) -> Any:
    """Return the gradient of the logarithm of that loss, which is divided by last."""
    scores = x @ weight
    loss = (np.maximum(scores, 0) - scores * y + da.log1p(da.exp(-abs(scores)))).mean()
    return logistic(x, y, weight) / loss


BY_HAND: dict[str, Callable[..., Any]] = {"logistic": logistic, "logarithm": logarithm}


def by_autograd(model: str, x: Any, y: Any, start: np.ndarray, size: str | None) -> Any:
    """Return the lazy gradient that autograd notes; `size` is what is more than is recomputed."""
    samples, classes = dovetail.dask.from_dask(x), dovetail.dask.from_dask(y)
    weight = dovetail.from_numpy(start).to("dask").requires_grad_()
    with nullcontext() if size is None else dovetail.dask.recompute(size):
        loss = F.binary_cross_entropy_with_logits(samples @ weight, classes)
        if model == "logarithm":
            loss = loss.log()
    loss.backward()
    assert weight.grad is not None
    return weight.grad.array


def peak() -> float:
    """Return the most memory that this process had resident, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


@contextmanager
def scheduler(workers: int) -> Iterator[Any]:
    """Let two threads compute, or workers in processes of their own."""
    if not workers:
        with dask.config.set(scheduler="threads", num_workers=2):
            yield None
        return
    from dask.distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": "8GiB"}
    with LocalCluster(n_workers=workers, **options) as cluster, Client(cluster) as client:
        yield client


def measure(options: argparse.Namespace) -> None:
    """Compute one gradient, and print what it took."""
    path = make_store(options.folder, options.gib[0])
    with scheduler(options.workers[0]) as client:
        begin = time.perf_counter()
        x, y = (da.from_zarr(path / name) for name in "xy")
        start = np.linspace(-0.1, 0.1, x.shape[1], dtype=np.float32)
        if options.how == "by hand":
            lazy = BY_HAND[options.model](x, y, start)
        else:
            size = options.over if options.how == "recompute" else None
            lazy = by_autograd(options.model, x, y, start, size)
        noted = time.perf_counter() - begin
        gradient = np.asarray(lazy.compute())
        report = {
            "noted": noted,
            "seconds": time.perf_counter() - begin,
            "peak": peak(),
            "workers": [] if client is None else sorted(client.run(peak).values()),
            "norm": float(np.linalg.norm(gradient)),
        }
    print(json.dumps(report))


def run(model: str, how: str, gib: float, workers: int, options: argparse.Namespace) -> None:
    """Measure in a process of its own, and print a row of a table."""
    command = [sys.executable, __file__, "--how", how, "--models", model, "--over", options.over]
    command += ["--gib", str(gib), "--workers", str(workers), "--folder", str(options.folder)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    row = f"| {gib:g} GiB | {model} | {how} | {workers or '2 threads'} | "
    if ran.returncode:
        print(f"{row}{(ran.stderr.splitlines() or ['killed'])[-1]} |", flush=True)
        return
    found = json.loads(ran.stdout.splitlines()[-1])
    peaks = " and ".join([f"{each:.2f}" for each in found["workers"]]) or "-"
    print(
        f"{row}{found['seconds']:.0f} s | {found['noted']:.2f} s | {found['peak']:.2f} GiB | "
        f"{peaks} | {found['norm']:.6f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--gib", type=float, nargs="+", default=[1], help="sizes of stores")
    parser.add_argument("--workers", type=int, nargs="+", default=[0], help="0: two threads")
    parser.add_argument("--models", nargs="+", choices=BY_HAND, default=["logistic"])
    parser.add_argument("--ways", nargs="+", choices=HOW, default=HOW)
    parser.add_argument("--over", default="64KiB", help="what is larger is recomputed")
    parser.add_argument("--folder", type=Path, default=Path("out/outofcore"))
    parser.add_argument("--how", choices=HOW, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.model = options.models[0]
    if options.how is not None:
        measure(options)
        return
    columns = ["store", "gradient of", "how", "workers", "time", "noted in", "peak here"]
    columns += ["peaks of workers", "norm"]
    print(f"| {' | '.join(columns)} |")
    print("|---" * len(columns) + "|")
    for gib in options.gib:
        make_store(options.folder, gib)
        for workers in options.workers:
            for model in options.models:
                for how in options.ways:
                    run(model, how, gib, workers, options)


if __name__ == "__main__":
    main()
