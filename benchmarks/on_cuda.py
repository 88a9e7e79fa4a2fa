"""Calls and training steps on a CUDA device, beside PyTorch where it has CUDA: `make bench-cuda`.

    python benchmarks/on_cuda.py [REPEATS]

What each figure means is in docs/cuda.md.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

REPEATS = 200

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "add, 64 elements": lambda T, x: x[0] + x[0],
    "add, 1 Mi elements": lambda T, x: x[1] + x[1],
    "softmax, 1024 × 1024": lambda T, x: x[1].softmax(1),
    "layer_norm, 1024 × 1024": lambda T, x: T.nn.functional.layer_norm(x[1], (1024,)),
    "gelu, 1 Mi elements": lambda T, x: T.nn.functional.gelu(x[1]),
    "sum, 1 Mi elements": lambda T, x: x[1].sum(),
    "matmul, 1024 × 1024": lambda T, x: x[1] @ x[1],
    "index, 1024 rows": lambda T, x: x[1][x[2]],
}


def libraries() -> Iterator[Any]:
    """Yield Dovetail, and PyTorch if it has CUDA."""
    yield importlib.import_module("dovetail")
    with suppress(ImportError):
        torch = importlib.import_module("torch")
        if torch.cuda.is_available():
            yield torch


def measured(T: Any, call: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Return the microseconds of host and device for one of many calls."""
    for _ in range(min(5, repeats)):
        call()
    first, last = T.cuda.Event(enable_timing=True), T.cuda.Event(enable_timing=True)
    T.cuda.synchronize()
    first.record()
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    host = time.perf_counter() - start
    last.record()
    T.cuda.synchronize()
    return host / repeats * 1e6, first.elapsed_time(last) / repeats * 1e3


def perceptron(T: Any) -> tuple[Any, Any]:
    """Return the network of two layers of `make bench`, and a batch."""
    nn = T.nn
    return (
        nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)),
        T.randn(32, 64, device="cuda"),
    )


def convolutions(T: Any) -> tuple[Any, Any]:
    """Return a small network of convolutions, and a batch of images."""
    nn = T.nn
    layers = [nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    layers += [nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    layers += [nn.Flatten(), nn.Linear(64 * 8 * 8, 10)]
    return nn.Sequential(*layers), T.randn(32, 3, 32, 32, device="cuda")


def transformer(T: Any) -> tuple[Any, Any]:
    """Return a layer of a transformer with a classifier, and a batch of sequences."""
    nn = T.nn
    layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True, dropout=0.0)
    network = nn.Sequential(layer, nn.Flatten(), nn.Linear(64 * 128, 10))
    return network, T.randn(16, 64, 128, device="cuda")


def step_of(T: Any, make: Callable[[Any], tuple[Any, Any]]) -> Callable[[], None]:
    """Return a training step with Adam."""
    network, batch = make(T)
    network = network.to("cuda")
    classes = T.randint(0, 10, (batch.shape[0],), device="cuda")
    optimizer = T.optim.Adam(network.parameters())

    def step() -> None:
        optimizer.zero_grad()
        T.nn.functional.cross_entropy(network(batch), classes).backward()
        optimizer.step()

    return step


def main(arguments: Sequence[str]) -> str | None:
    """Print the figures; return why there are none."""
    repeats = int(arguments[0]) if arguments else REPEATS
    dovetail = importlib.import_module("dovetail")
    if not dovetail.cuda.is_available():
        return str(dovetail.cuda.why_unavailable())
    print(dovetail.cuda.get_device_name())
    print(f"{'':28} {'library':10} {'host µs':>10} {'device µs':>10}")
    for T in libraries():
        tensors = [
            T.randn(64, device="cuda"),
            T.randn(1024, 1024, device="cuda"),
            T.randint(0, 1024, (1024,), device="cuda"),
        ]
        for name, call in CALLS.items():
            report(name, T, lambda call=call, T=T, tensors=tensors: call(T, tensors), repeats)
        for make in (perceptron, convolutions, transformer):
            report(f"step, {make.__name__}", T, step_of(T, make), repeats)
    return None


def report(name: str, T: Any, call: Callable[[], Any], repeats: int) -> None:
    """Print one row."""
    host, device = measured(T, call, repeats)
    print(f"{name:28} {T.__name__:10} {host:10.1f} {device:10.1f}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
