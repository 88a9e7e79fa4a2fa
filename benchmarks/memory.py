"""Memory of the graph: bytes per node of long chains, and how long they take to build, run backward
and free.

    python benchmarks/memory.py [--nodes N] [--json]

Every figure is taken in a process of its own, from the resident memory of that process before and
after the chain was built, so it counts all that a node costs: the node, what it saves, and the
memory allocator's loss. The tensors have eight float32 elements. Where PyTorch is installed it is
measured in the same way beside.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.util
import json
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

CHAINS: dict[str, Callable[[Any, Any], Any]] = {
    "mul (saves both inputs)": lambda x, w: x * w,
    "add (saves nothing)": lambda x, w: x + w,
    "exp (saves its result)": lambda x, w: x.exp(),
    "sin (saves its input)": lambda x, w: x.sin(),
    "view (saves nothing)": lambda x, w: x.view(8),
}


def resident() -> int:
    """Return the resident memory of this process in bytes."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except FileNotFoundError:  # not Linux: the highest so far, which is right as long as it grows
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def measure(library: str, chain: str, nodes: int, answers: Any) -> None:
    """Put bytes per node and seconds for building, backward and freeing into `answers`."""
    lib = importlib.import_module(library)
    if library == "torch":
        lib.set_num_threads(1)
    step = CHAINS[chain]
    w = lib.full((8,), 1e-9, requires_grad=True)
    x = lib.zeros(8, requires_grad=True)
    for _ in range(
        100
    ):  # what the first calls and the first backward load and compile is no part of it
        step(x, w).sum().backward()
    x.grad = w.grad = None
    gc.collect()
    before = resident()
    start = time.perf_counter()
    y = x
    for _ in range(nodes):
        y = step(y, w)
    built = time.perf_counter()
    size = resident() - before
    y.sum().backward(retain_graph=True)
    ran = time.perf_counter()
    del y
    freed = time.perf_counter()
    answers.put((size / nodes, built - start, ran - built, freed - ran))


def table(nodes: int) -> list[dict[str, Any]]:
    """Return one row per library and chain."""
    libraries = ["dovetail", *(["torch"] if importlib.util.find_spec("torch") else [])]
    context = multiprocessing.get_context("spawn")
    rows = []
    for chain in CHAINS:
        for library in libraries:
            answers: Any = context.Queue()
            process = context.Process(target=measure, args=(library, chain, nodes, answers))
            process.start()
            size, *seconds = answers.get()
            process.join()
            timed = dict(
                zip(
                    ("build", "backward", "free"),
                    [1e6 * each / nodes for each in seconds],
                    strict=True,
                )
            )
            rows.append({"chain": chain, "library": library, "bytes per node": size, **timed})
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--nodes", type=int, default=1_000_000, help="length of the chains (default: a million)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    rows = table(options.nodes)
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    print(f"chains of {options.nodes:,} nodes; microseconds per node")
    print(f"{'chain':26}{'library':10}{'bytes/node':>11}{'build':>8}{'backward':>10}{'free':>8}")
    for row in rows:
        print(
            f"{row['chain']:26}{row['library']:10}{row['bytes per node']:11.0f}"
            f"{row['build']:8.2f}{row['backward']:10.2f}{row['free']:8.2f}"
        )


if __name__ == "__main__":
    main()
