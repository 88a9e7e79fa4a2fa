"""Train on more data than memory holds: logistic regression and a small network over a Zarr store,
by Dovetail on Dask's chunks.

Run by ``make demo-outofcore``; ``ARGS="--gib 20 --workers 2 --kill-one"`` for more of it. Every
process is given a limit that it cannot exceed, far below the size of the store.
"""

from __future__ import annotations

import argparse
import os
import resource
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.diagnostics import ProgressBar
from store import make_store

import dovetail
from dovetail import Tensor, nn
from dovetail.nn import functional as F


def limit_memory(gib: float) -> None:
    """Let this process fail rather than take more than `gib` GiB."""
    size = int(gib * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def peak() -> float:
    """Return the most memory that this process had, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def loss_of(model: nn.Module, x: Tensor, y: Tensor, decay: float) -> Tensor:
    """Return the cross entropy of all samples, and a penalty on the weights: all lazy."""
    penalty = sum((p * p).sum() for p in model.parameters())
    return F.binary_cross_entropy_with_logits(model(x)[:, 0], y) + decay * penalty


def train(model: nn.Module, x: Tensor, y: Tensor, options: argparse.Namespace) -> list[float]:
    """Take steps of gradient descent over all samples; return the losses."""
    optimizer = dovetail.optim.SGD(model.parameters(), lr=0.5, momentum=0.5)
    again = (
        nullcontext() if options.recompute is None else dovetail.dask.recompute(options.recompute)
    )
    losses = []
    for step in range(options.steps):
        begin = time.perf_counter()
        optimizer.zero_grad()
        with again:
            loss = loss_of(model, x, y, 1e-4)
        loss.backward()
        optimizer.step()
        recorded = time.perf_counter() - begin
        loss = loss.detach()
        dovetail.dask.persist(model, optimizer, loss)  # one pass over the store
        losses.append(loss.item())
        total = time.perf_counter() - begin
        rate = x.array.nbytes / 2**30 / total
        print(
            f"  step {step}: loss {losses[-1]:.6f}, {total:.1f} s "
            f"({recorded * 1000:.0f} ms to record), {rate:.2f} GiB/s"
        )
    return losses


def gradient_by_hand(x: Any, y: Any, weight: np.ndarray) -> np.ndarray:
    """Return the gradient of logistic regression as one writes it for Dask alone."""
    away = 1 / (1 + da.exp(-(x @ weight))) - y
    return np.asarray((away @ x / x.shape[0]).compute())


def compare(x: Tensor, y: Tensor) -> None:
    """Print what autograd takes beside the gradient that is written by hand."""
    start = np.linspace(-0.1, 0.1, x.shape[1], dtype=np.float32)
    begin = time.perf_counter()
    expected = gradient_by_hand(x.array, y.array, start)
    by_hand = time.perf_counter() - begin
    begin = time.perf_counter()
    weight = dovetail.from_numpy(start).to("dask").requires_grad_()
    F.binary_cross_entropy_with_logits(x @ weight, y).backward()
    found = dovetail.dask.compute(weight.grad).numpy()
    by_autograd = time.perf_counter() - begin
    difference = float(abs(found - expected).max() / abs(expected).max())
    print(
        f"one gradient: {by_hand:.1f} s by hand in plain Dask, {by_autograd:.1f} s by autograd, "
        f"relative difference {difference:.1e}"
    )


@contextmanager
def cluster(options: argparse.Namespace) -> Iterator[Any]:
    """Let workers in processes of their own compute, or the threads of this one."""
    if not options.workers:
        limit_memory(options.limit)
        with dask.config.set(scheduler="threads", num_workers=2), ProgressBar(minimum=2):
            yield None
        return
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=options.workers,
            threads_per_worker=1,
            memory_limit=f"{options.limit}GiB",
            dashboard_address=":0",
        ) as started,
        Client(started) as client,
    ):
        client.run(limit_memory, options.limit)
        yield client


def kill_one(client: Any, after: float) -> None:
    """Kill a worker `after` seconds from now, as the kernel does when memory is short."""
    pid = next(iter(client.run(os.getpid).values()))

    def kill() -> None:
        print(f"  worker {pid} is killed")
        os.kill(pid, 9)

    threading.Timer(after, kill).start()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gib", type=float, default=4, help="size of the store (default: 4)")
    parser.add_argument("--limit", type=float, default=1.5, help="GiB that a process may take")
    parser.add_argument("--workers", type=int, default=0, help="processes; 0: threads of this one")
    parser.add_argument("--kill-one", nargs="?", type=float, const=3.0, metavar="SECONDS")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument(
        "--recompute", metavar="SIZE", help="saved tensors over this are read again"
    )
    parser.add_argument("--compare", action="store_true", help="with a gradient written by hand")
    parser.add_argument("--folder", type=Path, default=Path("out/outofcore"))
    options = parser.parse_args()
    store = make_store(options.folder, options.gib)
    with cluster(options) as client:
        x, y = (dovetail.dask.from_zarr(store / name) for name in "xy")
        size = x.array.nbytes / 2**30
        where = f"{options.workers} workers" if options.workers else "2 threads"
        print(f"{len(x):,} samples, {size:.1f} GiB in {x.array.npartitions} chunks of a Zarr store")
        print(f"{where}, {options.limit} GiB of memory for each process")
        if options.kill_one is not None and client is not None:
            kill_one(client, options.kill_one)
        dovetail.manual_seed(0)
        models = {
            "logistic regression": nn.Linear(x.shape[1], 1),
            "a network 250-16-1": nn.Sequential(
                nn.Linear(x.shape[1], 16), nn.ReLU(), nn.Linear(16, 1)
            ),
        }
        for name, model in models.items():
            print(name)
            losses = train(model.to("dask"), x, y, options)
            print(f"  losses {' '.join([each.hex() for each in losses])}")
        if options.compare:
            compare(x, y)
        print(f"peak memory: {peak():.2f} GiB here", end="")
        if client is not None:
            peaks = ", ".join([f"{each:.2f}" for each in client.run(peak).values()])
            print(f", {peaks} GiB in the workers", end="")
        print()


if __name__ == "__main__":
    main()
