"""The overhead of operators written in Python: Dovetail against PyTorch in one process, and the
geometric mean.

Run as ``python benchmarks/custom_ops.py`` with PyTorch installed (``--rounds N``, default 25;
``--json FILE``). Two tables: kernels that do nothing, so that all there is is the way there and
back (they return a tensor made beforehand; where a graph is recorded that cannot be), and kernels
that copy their first argument, the least that real ones do. The rest is as in ``overhead.py``, but
in time of this thread alone, which other programs disturb less.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import overhead
from overhead import KEPT, Benchmark, Run, bound, library_op, measure, square, torch

TABLES = {"kernels that do nothing": "MADE", "kernels that copy": "x0.clone()"}
GOAL = 0.15
"""The geometric mean that this project wants to stay under."""


def benchmarks(result: str) -> Iterator[Benchmark]:
    """Yield what is measured, for kernels that return the expression `result`."""
    if result == "MADE":
        yield Benchmark(
            "Library.define + impl", lambda lib: bound(library_op(lib), square(lib)), 1000, GOAL
        )
    yield Benchmark("custom_op, 1 argument", lambda lib: call(lib, 1, result), 300, GOAL)
    yield Benchmark("custom_op, 10 arguments", lambda lib: call(lib, 10, result), 300, GOAL)
    yield Benchmark(
        "with register_autograd, no grad required",
        lambda lib: call(lib, 1, result, formula=True),
        300,
        GOAL,
    )
    yield Benchmark(
        "with register_autograd, recording",
        lambda lib: call(lib, 1, "x0.clone()", formula=True, grad=True),
        300,
        GOAL,
    )
    if result != "MADE":
        yield Benchmark("with register_autograd, forward + backward", step, 100, GOAL)


def operator(lib: Any, arguments: int, result: str, *, formula: bool = False) -> Any:
    """Return a custom_op of tensors that returns the expression `result`."""
    names = [f"x{i}" for i in range(arguments)]
    scope: dict[str, Any] = {"MADE": square(lib)}
    exec(f"def copy({', '.join(names)}):\n    return {result}\n", scope)
    copy = scope["copy"]
    copy.__annotations__ = {**dict.fromkeys(names, lib.Tensor), "return": lib.Tensor}
    name = f"bench_{lib.__name__}_{arguments}_{'grad' if formula else 'plain'}::copy{len(KEPT)}"
    made = lib.library.custom_op(name, copy, mutates_args=())
    if formula:
        made.register_autograd(
            lambda ctx, grad: grad, setup_context=lambda ctx, inputs, output: None
        )
    KEPT.append(made)
    return made


def call(
    lib: Any, arguments: int, result: str, *, formula: bool = False, grad: bool = False
) -> Run:
    """Return a call of the operator."""
    tensors = [square(lib, grad=grad) for _ in range(arguments)]
    return bound(operator(lib, arguments, result, formula=formula), *tensors)


def step(lib: Any) -> Run:
    """Return forward and backward."""
    made = operator(lib, 1, "x0.clone()", formula=True)
    x, seed = square(lib, grad=True), square(lib)

    def run() -> None:
        x.grad = None
        made(x).backward(seed)

    return run


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if torch is None:
        parser.error("PyTorch is not installed: there is nothing to compare with")
    torch.set_num_threads(1)
    overhead.time.perf_counter = time.thread_time
    report = {title: table(title, result, options.rounds) for title, result in TABLES.items()}
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")


def table(title: str, result: str, rounds: int) -> dict[str, Any]:
    """Measure and print one table."""
    print(title)
    rows = [measure(each, rounds) for each in benchmarks(result)]
    for row in rows:
        low, _, high = row["quartiles"]
        print(
            f"    {row['name']:44} {row['dovetail']:8.2f} µs {row['torch']:8.2f} µs "
            f"{row['ratio']:6.2f} "
            f"({low:.2f}-{high:.2f})"
        )
    mean = math.exp(sum(math.log(row["ratio"]) for row in rows) / len(rows))
    print(f"    {'geometric mean of the ratios':44} {'':25}{mean:6.3f}   goal {GOAL}")
    return {"rows": rows, "geometric mean": mean}


if __name__ == "__main__":
    main()
