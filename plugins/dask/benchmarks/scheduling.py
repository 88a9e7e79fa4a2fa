"""How many tasks an operator gives to Dask, and what they cost apart from what they compute: chunks
hold one sample of two numbers.

    python plugins/dask/benchmarks/scheduling.py --tasks 100000

Prints, for a number of chunks that makes a step of training about so many tasks: tasks of each
operator for each chunk, and of the step the time to note it, to prepare the graph (Dask's
optimization), and to run it with the threads of this process.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy as np

import dovetail
from dovetail import Tensor
from dovetail.nn import functional as F

COLUMNS = 2


def samples(chunks: int, *sizes: int) -> Tensor:
    """Return a tensor of one sample in each chunk; a task makes each."""
    shape = (chunks, *sizes)
    made = da.map_blocks(
        np.full, chunks=((1,) * chunks, *[(n,) for n in sizes]), dtype=np.float32, **_block(shape)
    )
    return dovetail.dask.from_dask(made)


def _block(shape: tuple[int, ...]) -> dict[str, Any]:
    return {
        "shape": (1, *shape[1:]),
        "fill_value": np.float32(0.5),
        "meta": np.empty((0,) * len(shape), np.float32),
    }


def tasks_of(*tensors: Tensor) -> int:
    """Return how many tasks run for tensors, after what Dask joins and leaves out."""
    (optimized,) = dask.optimize([each.array for each in tensors])
    return len({key for each in optimized for key in each.__dask_graph__().to_dict()})


def of_rows(weight: Tensor) -> dict[str, Callable[[Tensor], Tensor]]:
    """Return calls of operators on samples in rows."""
    return {
        "x * 2 + 1": lambda x: x * 2 + 1,
        "x.exp()": lambda x: x.exp(),
        "x.sum()": lambda x: x.sum(),
        "x.sum(1)": lambda x: x.sum(1),
        "x.mean(0)": lambda x: x.mean(0),
        "x @ w": lambda x: x @ weight,
        "x.mT @ x": lambda x: x.mT @ x,
        "softmax(x, 1)": lambda x: x.softmax(1),
        "sort(x, 1)": lambda x: x.sort(1).values,
        "cumsum(x, 0)": lambda x: x.cumsum(0),
        "x[1:] - x[:-1]": lambda x: x[1:] - x[:-1],
        "layer_norm(x)": lambda x: F.layer_norm(x, (COLUMNS,)),
    }


def step(x: Tensor, y: Tensor, weight: Tensor) -> Tensor:
    """Return the gradient of a logistic regression."""
    weight = weight.detach().requires_grad_()
    F.binary_cross_entropy_with_logits((x @ weight)[:, 0], y).backward()
    assert weight.grad is not None
    return weight.grad


def measure_step(chunks: int, weight: Tensor, until: str) -> None:
    """Print what a step costs until it is noted, prepared or run."""
    begin = time.perf_counter()
    x, y = samples(chunks, COLUMNS), samples(chunks)
    made = time.perf_counter()
    gradient = step(x, y, weight)
    noted = time.perf_counter()
    line = f"{chunks:,} chunks: source {made - begin:.1f} s, noted in {noted - made:.2f} s"
    if until != "noted":
        (prepared,) = dask.optimize(gradient.array)
        tasks = len(prepared.__dask_graph__().to_dict())
        line += f", {tasks:,} tasks prepared in {time.perf_counter() - noted:.1f} s"
    if until == "run":
        begin = time.perf_counter()
        prepared.compute(optimize_graph=False, scheduler="threads", num_workers=2)
        ran = time.perf_counter() - begin
        line += f", run in {ran:.1f} s: {ran / tasks * 1e6:.0f} µs per task"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{line}; peak memory {peak:.2f} GiB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tasks", type=float, nargs="+", default=[1e4, 1e5])
    parser.add_argument("--until", choices=["noted", "prepared", "run"], default="run")
    options = parser.parse_args()
    weight = dovetail.full((COLUMNS, 1), 0.1, device="dask")
    few, more = 200, 400  # two sizes: what is left over is no share of a chunk's
    print("tasks for each chunk, beside the one that makes it")
    for name, call in of_rows(weight).items():
        one, two = (tasks_of(call(samples(n, COLUMNS))) for n in (few, more))
        print(f"  {name:16} {(two - one) / (more - few) - 1:.2f}")
    counts = [tasks_of(step(samples(n, COLUMNS), samples(n), weight)) for n in (few, more)]
    each = (counts[1] - counts[0]) / (more - few)
    print(f"  a step           {each:.2f}, with those that make x and y")
    for wanted in options.tasks:
        measure_step(round(wanted / each), weight, options.until)


if __name__ == "__main__":
    main()
