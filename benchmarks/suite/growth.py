"""What grows with what: ``python -m benchmarks.suite.growth``.

A call must not cost more because ten thousand other operators are registered, nor a node because
there are a million. Besides: memory per tensor and per node, and the time from nothing to the first
result of an operator. Memory and first calls are taken in a process of their own each.

Options: ``--operators N`` (default 10,000), ``--nodes N`` (default 1,000,000), ``--json FILE``.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import machine

FIRST_CALLS = ("x + y", "x.softmax(-1)", "x @ y", "x.sort()", "(x * y).sum().backward()")
"""Expressions whose first call is measured, after import and creation of `x` and `y`."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.suite.growth")
    parser.add_argument("--operators", type=int, default=10_000)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--part", default="", help="one measurement, for a process of its own")
    parser.add_argument("--library", default="dovetail")
    options = parser.parse_args()
    machine.prepare(1, tuned=False)
    if options.part:
        print(json.dumps(PARTS[options.part](options)))
        return
    report: dict[str, Any] = {"about": machine.about(1, tuned=False)}
    libraries = ["dovetail", *(["torch"] if machine.torch(1) is not None else [])]
    report["call by registered operators, µs"] = part("calls", "dovetail", options)
    for library in libraries:
        report[f"{library}: µs per node of a chain"] = part("nodes", library, options)
        report[f"{library}: bytes per tensor and node"] = part("memory", library, options)
        report[f"{library}: first calls, ms"] = part("first", library, options)
    for name, value in report.items():
        print(f"{name}: {value}")
    if options.json:
        options.json.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")


def part(name: str, library: str, options: argparse.Namespace) -> Any:
    """Return what a measurement in a process of its own gives."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "benchmarks.suite.growth", "--part", name),
            *("--library", library, "--nodes", str(options.nodes)),
            *("--operators", str(options.operators)),
        ],
        cwd=machine.ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


# -- what runs in a process of its own -------------------------------------------------------------


def library(options: argparse.Namespace) -> Any:
    """Import the library that is measured."""
    lib = __import__(options.library)
    if options.library == "torch":
        lib.set_num_threads(1)
    return lib


def microseconds(run: Callable[[], object], calls: int = 5000) -> float:
    """Return the median over rounds of the processor time of one call."""
    rounds = []
    for _ in range(9):
        begin = time.thread_time()
        for _ in range(calls):
            run()
        rounds.append((time.thread_time() - begin) / calls * 1e6)
    return round(statistics.median(rounds), 3)


def calls(options: argparse.Namespace) -> dict[str, list[float]]:
    """Return the cost of calls beside ten other operators and beside many."""
    lib = library(options)
    own = lib.library.Library("growth", "DEF")
    own.define("f(Tensor x) -> Tensor")
    own.impl("f", lambda x: x, "CPU")
    overload, packet, x, y = own_calls(lib)
    probes: dict[str, Callable[[], object]] = {
        "x + y": lambda: x + y,
        "Library op": lambda: overload(x),
        "its packet": lambda: packet(x),
    }
    figures: dict[str, list[float]] = {name: [] for name in probes}
    begun = 0
    for count in (10, options.operators):
        for number in range(begun, count):
            own.define(f"g{number}(Tensor x, int n={number}) -> Tensor")
            own.impl(f"g{number}", lambda x, n: x, "CPU")
        begun = count
        for name, probe in probes.items():
            figures[name].append(microseconds(probe))
    return figures


def own_calls(lib: Any) -> tuple[Any, Any, Any, Any]:
    """Return the operator of `calls`, its packet and two tensors."""
    return lib.ops.growth.f.default, lib.ops.growth.f, lib.ones(8, 8), lib.ones(8, 8)


def nodes(options: argparse.Namespace) -> dict[str, list[float]]:
    """Return microseconds per node of building and running chains of 100 and of many products."""
    lib = library(options)
    figures: dict[str, list[float]] = {}
    for count in (100, options.nodes):
        x, y, seed = lib.ones(8, requires_grad=True), lib.ones(8), lib.ones(8)
        times = []
        for _ in range(max(3, min(50, 100_000 // count))):
            begin = time.thread_time()
            out = x
            for _ in range(count):
                out = out * y
            middle = time.thread_time()
            out.backward(seed)  # with what it takes to free the graph
            end = time.thread_time()
            times.append(((middle - begin) / count * 1e6, (end - middle) / count * 1e6))
            out = None
            gc.collect()
        figures[str(count)] = [
            round(statistics.median(each), 3) for each in zip(*times, strict=True)
        ]
    return figures


def resident() -> int:
    """Return the resident memory of this process in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def memory(options: argparse.Namespace) -> dict[str, int]:
    """Return bytes per tensor of eight elements, per view of one, and per node of a chain."""
    lib = library(options)
    x, y = lib.ones(8, requires_grad=True), lib.ones(8)
    made: dict[str, Callable[[], Any]] = {
        "tensor": lambda: lib.empty(8),
        "view": lambda: y[1:],
        "node": lambda: x * y,
    }
    figures = {}
    for name, make in made.items():
        for _ in range(100):
            make()
        gc.collect()
        before = resident()
        held = [make() for _ in range(100_000)]
        figures[name] = round((resident() - before) / len(held))
    return figures


def first(options: argparse.Namespace) -> dict[str, float]:
    """Return the processor time, in milliseconds, of import and of the first call of some
    expressions, one after the other.
    """
    begin = time.process_time()
    lib = library(options)
    figures = {"import": round((time.process_time() - begin) * 1e3, 1)}
    names = {"x": lib.ones(8, 8, requires_grad=True), "y": lib.ones(8, 8)}
    for expression in FIRST_CALLS:
        begin = time.process_time()
        eval(expression, names)
        figures[expression] = round((time.process_time() - begin) * 1e3, 2)
    return figures


PARTS = {"calls": calls, "nodes": nodes, "memory": memory, "first": first}


if __name__ == "__main__":
    main()
