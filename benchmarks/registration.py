"""The cost of operators that nobody calls: time and memory per registration, and what ten thousand
do to a call.

Run as ``python benchmarks/registration.py`` (``--count N``, default 10,000; ``--json FILE``). Two
kinds of library are measured: one whose operators share forty signatures, as those of most
libraries do, and one in which no two are alike.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dovetail
from dovetail.library import Library

GOAL = 30.0
"""Microseconds per registration."""

SHAPES = (
    "(Tensor x) -> Tensor",
    "(Tensor x, Tensor y, float alpha=1.0, int[] dims={n}) -> Tensor",
    "(Tensor(a!) self, Tensor other, *, Scalar scale={i}) -> Tensor(a!)",
    "(Tensor[] xs, Tensor? weight=None, *, bool flag=True, ScalarType? dtype=None, int n={i}) -> "
    "(Tensor, Tensor)",
)


def kernel(*args: Any, **kwargs: Any) -> Any:
    """Be what every operator runs."""
    return args[0]


def schemas(count: int, different: int) -> list[str]:
    """Return the texts of `count` operators, which have `different` signatures."""
    numbers = [i % different for i in range(count)]
    return [f"op{i}" + SHAPES[i % len(SHAPES)].format(i=n, n=[n]) for i, n in enumerate(numbers)]


def register(namespace: str, texts: list[str]) -> tuple[Library, float, float]:
    """Define the operators and give each a kernel; return the microseconds per definition and per
    kernel.
    """
    library = Library(namespace, "DEF")
    gc.collect()
    begin = time.thread_time()
    for text in texts:
        library.define(text)
    middle = time.thread_time()
    for i in range(len(texts)):
        library.impl(f"op{i}", kernel, "CPU")
    end = time.thread_time()
    return library, (middle - begin) / len(texts) * 1e6, (end - middle) / len(texts) * 1e6


def seconds_per_call(run: Callable[[], object], calls: int = 20_000) -> float:
    """Return the median over rounds of the time of one call."""
    rounds = []
    for _ in range(9):
        begin = time.thread_time()
        for _ in range(calls):
            run()
        rounds.append((time.thread_time() - begin) / calls)
    return statistics.median(rounds)


def probes() -> dict[str, Callable[[], object]]:
    """Return the calls whose cost must not depend on what else is registered."""
    library = Library("bench_probe", "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x, "CPU")
    overload, packet = dovetail.ops.bench_probe.f.default, dovetail.ops.bench_probe.f
    x, y = dovetail.ones(8, 8), dovetail.ones(8, 8)
    return {
        "x + y": lambda: x + y,
        "Library op": lambda: overload(x),
        "its packet": lambda: packet(x),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    calls = probes()
    before = {name: seconds_per_call(run) * 1e6 for name, run in calls.items()}
    report: dict[str, Any] = {"count": options.count, "goal": GOAL}
    for name, different in (("shared", 10), ("different", options.count)):
        texts = schemas(options.count, different)
        library, define, impl = register(f"bench_{name}", texts)
        report[name] = {"define": define, "impl": impl}
        print(
            f"{options.count} operators, signatures {name}: {define:.1f} µs per define, "
            f"{impl:.1f} µs per impl"
        )
        if name == "shared":
            after = {probe: seconds_per_call(run) * 1e6 for probe, run in calls.items()}
            report["calls"] = {probe: [before[probe], after[probe]] for probe in calls}
        begin = time.thread_time()
        library._destroy()
        report[name]["destroy"] = (time.thread_time() - begin) / options.count * 1e6
        print(f"    and {report[name]['destroy']:.1f} µs to take each back")
        tracemalloc.start()
        library, _, _ = register(f"bench_{name}", texts)
        report[name]["bytes"] = tracemalloc.get_traced_memory()[0] / options.count
        tracemalloc.stop()
        library._destroy()
        print(
            f"    {report[name]['bytes']:.0f} bytes each, with schema and kernel, before the "
            "first call"
        )
    for probe, (alone, among) in report["calls"].items():
        print(
            f"a call of {probe}: {alone:.3f} µs alone, {among:.3f} µs among {options.count} others"
        )
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
