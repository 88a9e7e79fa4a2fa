"""Time three training steps in Dovetail, and in what one might use instead, in one process:
``python -m benchmarks.others`` (make bench-others).

Every library makes the same steps from the same numbers, in the words of its own users; the losses
of the first two steps are held against PyTorch's first. What is not installed is left out:
``pip install torch jax autograd mygrad tinygrad``. The process keeps to as many processors as there
are threads. Rounds alternate between the libraries; the table has medians and quartiles in
microseconds, and the ratio to the first.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from statistics import quantiles
from time import perf_counter
from typing import Any

from benchmarks.suite import machine

Make = Callable[[str, dict[str, Any]], Callable[[], float]]


def libraries(threads: int) -> dict[str, Make]:
    """Return what is installed."""
    import dovetail

    from .functional import autograd_step, jax_step
    from .like_torch import step_of
    from .with_methods import mygrad_step, tinygrad_step

    found: dict[str, Make] = {"dovetail": partial(step_of, dovetail)}
    torch = machine.torch(threads)
    if torch is not None:
        found = {"torch": partial(step_of, torch), **found}
    others: dict[str, tuple[str, Make]] = {
        "jax, jit": ("jax", partial(jax_step, jit=True)),
        "jax": ("jax", partial(jax_step, jit=False)),
        "HIPS autograd": ("autograd", autograd_step),
        "mygrad": ("mygrad", mygrad_step),
        "tinygrad, TinyJit": ("tinygrad", partial(tinygrad_step, jit=True)),
        "tinygrad": ("tinygrad", partial(tinygrad_step, jit=False)),
    }
    return found | {name: make for name, (module, make) in others.items() if find_spec(module)}


def check(name: str, steps: dict[str, Callable[[], float]]) -> None:
    """Make two steps in every library, and compare the loss, and by how much the first step
    lessens it, with those of the first library.

    Raises
    ------
    AssertionError
        If one computes something else.
    """
    losses = {lib: (step(), step()) for lib, step in steps.items()}
    before, after = next(iter(losses.values()))
    for lib, (first, second) in losses.items():
        alike = abs(first - before) < 1e-4 * before
        assert alike and abs(first - second - (before - after)) < 0.02 * abs(before - after), (
            f"{name} in {lib}: {first} and {second}, not {before} and {after}"
        )


def timed(steps: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Return microseconds of a step by library, one figure of a round."""
    for step in steps.values():
        for _ in range(5):
            step()
    times: dict[str, list[float]] = {lib: [] for lib in steps}
    for _ in range(rounds):
        for lib, step in steps.items():
            count, start = 0, perf_counter()
            while (spent := perf_counter() - start) < 0.03:
                step()
                count += 1
            times[lib].append(spent / max(count, 1) * 1e6)
    return times


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.others", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    machine.prepare(options.threads, tuned=True)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-options.threads :])

    from .numbers import STEPS  # imports NumPy: after the environment is set

    found = libraries(options.threads)
    print("| step | library | µs | quartiles | to the first |\n|---|---|---|---|---|")
    for name, (title, make_numbers) in STEPS.items():
        steps = {lib: make(name, make_numbers()) for lib, make in found.items()}
        check(name, steps)
        times = timed(steps, options.rounds)
        first = quantiles(next(iter(times.values())), n=4)[1]
        for lib, figures in times.items():
            low, middle, high = quantiles(figures, n=4)
            print(
                f"| {title} | {lib} | {middle:.0f} | {low:.0f} to {high:.0f} "
                f"| {middle / first:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
