"""Measures DistributedDataParallel: `python benchmarks/data_parallel.py [TRIALS]`.

Starts itself under ``mpiexec`` with 1 and 2 processes, BLAS with one thread in each, and prints the
speed-up, with quartiles over trials that alternate between the two; what a step sends beside the
least that it could; and what the alpha-beta model says of 8 to 64 processes with the bucket sizes
that were used and the alpha and beta that were measured.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import dovetail
from dovetail import nn

BATCH = 256
WIDTH = 512
STEPS = 30
TRIALS = 15
BUCKET_MIB = 1.0


def make_model() -> nn.Module:
    """Return a multilayer perceptron of 0.66 million parameters."""
    dovetail.manual_seed(0)
    layers = [nn.Linear(256, WIDTH), nn.ReLU()]
    for _ in range(2):
        layers += [nn.Linear(WIDTH, WIDTH), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(WIDTH, 10))


def measure() -> None:
    """Time steps on this process's share of a batch, and collectives; rank 0 prints them."""
    import dovetail.distributed as dist

    dist.init_process_group("mpi")
    rank, size = dist.get_rank(), dist.get_world_size()
    model = nn.parallel.DistributedDataParallel(make_model(), bucket_cap_mb=BUCKET_MIB)
    optimizer = dovetail.optim.SGD(model.parameters(), lr=0.01)
    dovetail.manual_seed(1)
    x = dovetail.randn(BATCH, 256)[rank::size].contiguous()
    y = dovetail.randint(0, 10, (BATCH,))[rank::size].contiguous()
    statistics = model.process_group.statistics

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    step()
    before = dict(statistics)
    step()
    report: dict[str, Any] = {name: statistics[name] - before[name] for name in statistics}
    report["gradients"] = sum(p.numel() * p.element_size() for p in model.parameters())
    report["buckets"] = [4 * bucket.flat.numel() for bucket in model.reducer.buckets]
    dist.barrier()
    start = time.perf_counter()
    for _ in range(STEPS):
        step()
    dist.barrier()
    report["seconds"] = (time.perf_counter() - start) / STEPS
    report["all_reduce"] = [(count, all_reduce_time(dist, count)) for count in (1, 2**16, 2**20)]
    if rank == 0:
        print(json.dumps(report))
    dist.destroy_process_group()


def all_reduce_time(dist: Any, count: int) -> float:
    """Return the seconds of an all-reduce of `count` float32, the median of some."""
    x = dovetail.zeros(count)
    times = []
    for _ in range(15):
        dist.barrier()
        start = time.perf_counter()
        dist.all_reduce(x)
        times.append(time.perf_counter() - start)
    return median(times)


def ring_seconds(alpha: float, beta: float, size: int, message: int) -> float:
    """Return the seconds of a ring all-reduce: 2(p-1) messages, of a p-th of the bytes each."""
    return 2 * (size - 1) * (alpha + beta * message / size)


def tree_seconds(alpha: float, beta: float, size: int, message: int) -> float:
    """Return the seconds of Rabenseifner's all-reduce: halving and doubling, 2 log2(p) messages."""
    return 2 * math.log2(size) * alpha + 2 * (size - 1) / size * beta * message


def run(size: int) -> dict[str, Any]:
    """Return what `measure` prints with `size` processes."""
    starter = Path(sys.executable).with_name("mpiexec")
    command = [str(starter) if starter.exists() else "mpiexec", "-n", str(size)]
    found = subprocess.run(
        [*command, sys.executable, __file__, "--measure"],
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
        # As many threads as processes: each has a core.
        env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    report: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
    return report


def print_messages(report: dict[str, Any]) -> None:
    """Print what a step sends, and the least that it could: each gradient once, in as many
    all-reduces as buckets of that size must be.
    """
    gradients = report["gradients"]
    least = math.ceil(gradients / (BUCKET_MIB * 2**20))
    print(
        f"a step: {report['collectives']} all-reduces and {report['messages']} other messages of "
        f"{report['bytes']:,} bytes, in buckets {report['buckets']}; the least: {gradients:,} "
        f"bytes of gradients, {least} all-reduces of {BUCKET_MIB:g} MiB"
    )


def main(trials: int) -> None:
    """Alternate runs with 1 and 2 processes; print the speed-up and the model."""
    runs = [(run(1), run(2)) for _ in range(trials)]
    one, two = runs[-1]
    ratios = [alone["seconds"] / pair["seconds"] for alone, pair in runs]
    low, middle, high = quantiles(ratios, n=4)
    for name, reports in (
        ("1 process", [r[0] for r in runs]),
        ("2 processes", [r[1] for r in runs]),
    ):
        first, half, third = quantiles([1e3 * report["seconds"] for report in reports], n=4)
        print(f"{name}: {half:.2f} ms a step, quartiles {first:.2f} to {third:.2f}")
    print(f"speed-up: {middle:.2f}, quartiles {low:.2f} to {high:.2f}, {trials} trials")
    print_messages(two)
    times = {
        count: median(r[1]["all_reduce"][i][1] for r in runs)
        for i, count in enumerate((1, 2**16, 2**20))
    }
    alpha = times[1] / 2
    beta = (times[2**20] - times[1]) / (4 * 2**20)
    print(f"alpha {1e6 * alpha:.1f} us, beta {1e9 * beta:.2f} ns a byte ({1e-9 / beta:.2f} GB/s)")
    compute = one["seconds"]
    network = (2e-6, 1 / 12.5e9)
    for size in (8, 16, 32, 64):
        for label, (a, b) in (("as measured", (alpha, beta)), ("100 Gbit/s", network)):
            ring = sum(ring_seconds(a, b, size, bucket) for bucket in two["buckets"])
            tree = sum(tree_seconds(a, b, size, bucket) for bucket in two["buckets"])
            print(
                f"{size:3} processes, {label}: ring {1e3 * ring:.2f} ms, tree {1e3 * tree:.2f} ms, "
                f"for {1e3 * compute:.1f} ms of computing in each"
            )


if __name__ == "__main__":
    if "--measure" in sys.argv:
        measure()
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS)
