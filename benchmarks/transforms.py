"""Transforms of functions: Dovetail against PyTorch in one process, in turns, as the median of the
rounds' ratios.

``python benchmarks/transforms.py [--rounds N]`` prints a line per case and batch size. One thread
on both sides.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.func

import dovetail
import dovetail.func

SHAPES = ((64, 64), (64,), (10, 64), (10,))


def tensors(lib: Any, batch: int) -> tuple[Any, Any, Any]:
    """Return the parameters of a 64-64-10 perceptron, inputs and classes."""
    rng = np.random.default_rng(0)
    parameters = [
        lib.tensor(rng.standard_normal(shape).astype("float32") * 0.1) for shape in SHAPES
    ]
    inputs = lib.tensor(rng.standard_normal((batch, 64)).astype("float32"))
    return parameters, inputs, lib.tensor(rng.integers(0, 10, batch))


def loss(lib: Any, parameters: Any, x: Any, label: Any) -> Any:
    functional = lib.nn.functional
    hidden = functional.relu(functional.linear(x, parameters[0], parameters[1]))
    return functional.cross_entropy(functional.linear(hidden, parameters[2], parameters[3]), label)


def gradients_per_sample(lib: Any, batch: int) -> Callable[[], Any]:
    """Return what computes the gradient of every sample's loss."""
    parameters, inputs, labels = tensors(lib, batch)
    one = lib.func.grad(lambda p, x, label: loss(lib, p, x, label))
    run = lib.func.vmap(one, in_dims=(None, 0, 0))
    return lambda: run(parameters, inputs, labels)


def forward_per_sample(lib: Any, batch: int) -> Callable[[], Any]:
    """Return what computes every sample's loss."""
    parameters, inputs, labels = tensors(lib, batch)
    run = lib.func.vmap(lambda p, x, label: loss(lib, p, x, label), in_dims=(None, 0, 0))
    return lambda: run(parameters, inputs, labels)


CASES = {
    "vmap(loss) of a 64-64-10 MLP": forward_per_sample,
    "vmap(grad(loss)) of a 64-64-10 MLP": gradients_per_sample,
}


def seconds(run: Callable[[], Any], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - start) / calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=25)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    for name, make in CASES.items():
        for batch in (16, 64, 256):
            ours, theirs = make(dovetail, batch), make(torch, batch)
            for found, wanted in zip(_listed(ours()), _listed(theirs()), strict=True):
                np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-3, atol=1e-4)
            times = [(seconds(ours, 5), seconds(theirs, 5)) for _ in range(rounds)]
            best = [min(column) * 1e6 for column in zip(*times, strict=True)]
            ratio = statistics.median([mine / other for mine, other in times])
            print(
                f"{name}, batch {batch:3}: {best[0]:6.0f} µs, torch {best[1]:6.0f} µs, ratio "
                f"{ratio:.2f}"
            )


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


if __name__ == "__main__":
    main()
