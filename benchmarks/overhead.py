"""The cost of a call: Dovetail against PyTorch in one process, alternating, as medians and ratios.

Run by ``make bench`` (``make bench ORACLE=1`` installs PyTorch; without it the times stand alone).
The sides take turns in short rounds, so that a change of the machine's speed hits both, but of some
milliseconds, since the first calls after the other side find the processor's caches full of its
code; the ratio is the median of the rounds' ratios. The garbage collector stays on; PyTorch's own
heap is frozen, so that it does not tax the other side.

Options: ``--rounds N`` (default 25), ``--only WORD`` (benchmarks whose name contains it), ``--json
FILE``.
"""

from __future__ import annotations

import os

# OpenBLAS workers spin after a product and would slow the other side; one thread on both sides.
# Must precede NumPy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A pinned core type halves NumPy's products on newer processors.
PINNED = os.environ.pop("OPENBLAS_CORETYPE", None)

import argparse  # noqa: E402 - the environment comes first
import gc  # noqa: E402
import json  # noqa: E402
import platform  # noqa: E402
import statistics  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable, Iterator  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

try:
    import torch
except ImportError:
    torch = None

from suite.machinery import function, square  # noqa: E402
from suite.training import chain, fan_in  # noqa: E402

import dovetail  # noqa: E402

Run = Callable[[], object]


@dataclass(frozen=True)
class Benchmark:
    """One thing to measure on both sides.

    Attributes
    ----------
    name
        What is measured.
    make
        Called with a library (dovetail or torch), returns what to time.
    calls
        Calls per round.
    per
        Units in one call: the time shown is per unit.
    goal
        The ratio this project wants to stay under.
    """

    name: str
    make: Callable[[Any], Run]
    calls: int
    goal: float
    per: int = 1


def benchmarks() -> Iterator[Benchmark]:
    """Yield the benchmarks in the order of the table."""
    yield Benchmark("x + y, 8×8", lambda lib: bound(add, square(lib), square(lib)), 2000, 0.60)
    yield Benchmark(
        "x + y, 8×8, recording",
        lambda lib: bound(add, square(lib, grad=True), square(lib)),
        2000,
        0.60,
    )
    yield Benchmark("x * 2.5, 8×8", lambda lib: bound(times_number, square(lib)), 2000, 0.60)
    yield Benchmark("x @ y, 8×8", lambda lib: bound(matmul, square(lib), square(lib)), 2000, 0.60)
    yield Benchmark("x.sum(), 8×8", lambda lib: bound(total, square(lib)), 2000, 0.80)
    yield Benchmark("x.t(), 8×8", lambda lib: bound(transpose, square(lib)), 2000, 0.80)
    yield Benchmark("x[0], 8×8", lambda lib: bound(first_row, square(lib)), 2000, 0.80)
    yield Benchmark(
        "x.add_(y), 8×8", lambda lib: bound(add_in_place, square(lib), square(lib)), 2000, 0.80
    )
    yield Benchmark(
        "ops.aten.add.Tensor",
        lambda lib: bound(lib.ops.aten.add.Tensor, square(lib), square(lib)),
        1000,
        0.60,
    )
    yield Benchmark(
        "Library op, 1 argument", lambda lib: bound(library_op(lib), square(lib)), 500, 0.20
    )
    yield Benchmark(
        "custom_op, 1 argument", lambda lib: bound(custom_op(lib), square(lib)), 300, 0.20
    )
    yield Benchmark(
        "custom_op, 10 arguments",
        lambda lib: bound(custom_op_of_ten(lib), *[square(lib)] * 10),
        200,
        0.20,
    )
    yield Benchmark("custom_op with autograd, forward + backward", custom_step, 500, 0.20)
    yield Benchmark("Function.apply, forward + backward", function_step, 500, 0.25)
    yield Benchmark("one op, forward + backward", one_op_step, 500, 0.40)
    yield Benchmark("chain of 100 products, backward, per node", chain, 50, 0.35, per=100)
    yield Benchmark("fan-in of 100, backward, per node", fan_in, 30, 0.40, per=100)
    yield Benchmark("MLP 64-64-10, SGD step, batch 32", mlp_step, 200, 0.35)


# -- the measured code; `lib` is dovetail or torch -------------------------------------------------


def bound(function: Callable[..., object], *args: Any) -> Run:
    """Return a function without arguments that calls `function`."""
    names = [f"a{i}" for i in range(len(args))]
    scope: dict[str, Any] = {"function": function, **dict(zip(names, args, strict=True))}
    run: Run = eval(f"lambda: function({', '.join(names)})", scope)
    return run


def add(x: Any, y: Any) -> Any:
    return x + y


def times_number(x: Any) -> Any:
    return x * 2.5


def matmul(x: Any, y: Any) -> Any:
    return x @ y


def total(x: Any) -> Any:
    return x.sum()


def transpose(x: Any) -> Any:
    return x.t()


def first_row(x: Any) -> Any:
    return x[0]


def add_in_place(x: Any, y: Any) -> Any:
    return x.add_(y)


def library_op(lib: Any) -> Callable[..., object]:
    """Return an operator made with Library.define and impl, with a kernel that costs next to
    nothing.
    """
    library = lib.library.Library(f"bench_{lib.__name__}", "DEF")
    library.define("passes(Tensor x) -> Tensor")
    library.impl("passes", lambda x: x, "CPU")
    KEPT.append(library)
    operator: Callable[..., object] = getattr(lib.ops, f"bench_{lib.__name__}").passes.default
    return operator


def custom_op(lib: Any) -> Callable[..., object]:
    """Return a custom_op of one argument."""

    def copy(x):
        return x.clone()

    copy.__annotations__ = {"x": lib.Tensor, "return": lib.Tensor}
    made: Callable[..., object] = lib.library.custom_op(
        f"bench_{lib.__name__}_one::copy", copy, mutates_args=()
    )
    return made


def custom_op_of_ten(lib: Any) -> Callable[..., object]:
    """Return a custom_op of ten arguments."""

    def first(a, b, c, d, e, f, g, h, i, j):
        return a.clone()

    first.__annotations__ = {**dict.fromkeys("abcdefghij", lib.Tensor), "return": lib.Tensor}
    made: Callable[..., object] = lib.library.custom_op(
        f"bench_{lib.__name__}_ten::first", first, mutates_args=()
    )
    return made


def custom_step(lib: Any) -> Run:
    """Return forward and backward through a custom_op with a registered derivative."""

    def double(x):
        return x * 2

    double.__annotations__ = {"x": lib.Tensor, "return": lib.Tensor}
    made = lib.library.custom_op(f"bench_{lib.__name__}_grad::double", double, mutates_args=())
    made.register_autograd(lambda ctx, grad: grad * 2)
    x, seed = square(lib, grad=True), square(lib)

    def step() -> None:
        x.grad = None
        made(x).backward(seed)

    return step


def function_step(lib: Any) -> Run:
    """Return forward and backward through an autograd.Function."""

    double = function(lib)
    x, seed = square(lib, grad=True), square(lib)

    def step() -> None:
        x.grad = None
        double(x).backward(seed)

    return step


def one_op_step(lib: Any) -> Run:
    """Return forward and backward of one product."""
    x, y, seed = square(lib, grad=True), square(lib), square(lib)

    def step() -> None:
        x.grad = None
        (x * y).backward(seed)

    return step


def mlp_step(lib: Any) -> Run:
    """Return one training step of a small classifier."""
    lib.manual_seed(0)
    nn = lib.nn
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = lib.optim.SGD(model.parameters(), lr=0.01)
    criterion = nn.CrossEntropyLoss()
    images, labels = lib.randn(32, 64), lib.randint(0, 10, (32,))

    def step() -> None:
        optimizer.zero_grad()
        criterion(model(images), labels).backward()
        optimizer.step()

    return step


KEPT: list[Any] = []
"""Libraries whose registrations must outlive the function that made them."""


# -- measuring -------------------------------------------------------------------------------------


def seconds_per_call(run: Run, calls: int) -> float:
    """Return the time of one call, as the mean of `calls`."""
    begin = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - begin) / calls


def measure(benchmark: Benchmark, rounds: int) -> dict[str, Any]:
    """Return medians in microseconds per unit, and the median ratio with its quartiles."""
    ours = benchmark.make(dovetail)
    theirs = benchmark.make(torch) if torch is not None else None
    for run in filter(None, (ours, theirs)):
        seconds_per_call(run, max(benchmark.calls // 4, 3))
    gc.collect()
    gc.freeze()
    times: dict[str, list[float]] = {"dovetail": [], "torch": []}
    for index in range(rounds):
        sides = [("dovetail", ours), ("torch", theirs)]
        for name, run in sides if index % 2 else reversed(sides):
            if run is not None:
                times[name].append(seconds_per_call(run, benchmark.calls) / benchmark.per * 1e6)
    gc.unfreeze()
    row: dict[str, Any] = {"name": benchmark.name, "goal": benchmark.goal}
    row["dovetail"] = statistics.median(times["dovetail"])
    if theirs is not None:
        ratios = [a / b for a, b in zip(times["dovetail"], times["torch"], strict=True)]
        row["torch"] = statistics.median(times["torch"])
        row["quartiles"] = statistics.quantiles(ratios, n=4)
        row["ratio"] = statistics.median(ratios)
    return row


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    version = (
        f"torch {torch.__version__}" if torch is not None else "torch is not installed: no ratios"
    )
    if torch is not None:
        torch.set_num_threads(1)
    print(
        f"Python {platform.python_version()}, NumPy {np.__version__}, {version}; 1 thread, "
        f"{options.rounds} rounds"
    )
    if PINNED:
        print(f"OPENBLAS_CORETYPE={PINNED} was dropped")
    print(
        f"{'':44} {'dovetail µs':>12} {'torch µs':>10} {'ratio':>6} {'quartiles':>13} {'goal':>5}"
    )
    rows = []
    for benchmark in benchmarks():
        if options.only not in benchmark.name:
            continue
        row = measure(benchmark, options.rounds)
        rows.append(row)
        line = f"{row['name']:44} {row['dovetail']:12.2f}"
        if "ratio" in row:
            low, _, high = row["quartiles"]
            mark = "" if row["ratio"] <= row["goal"] else "  over"
            line += (
                f" {row['torch']:10.2f} {row['ratio']:6.2f} "
                f"{low:6.2f}-{high:.2f} {row['goal']:6.2f}{mark}"
            )
        print(line)
        sys.stdout.flush()
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
