"""Operators on large arrays: Dovetail against PyTorch on one thread, alternating, as ratios of the
least times.

    python benchmarks/large_arrays.py [--rounds N] [--only WORD] [--json]

Times are those of the processor (``time.thread_time``), so that other work on the machine counts as
little as possible.
"""

from __future__ import annotations

import os

# One thread on both sides. Must precede NumPy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A pinned core type halves NumPy's products on newer processors.
PINNED = os.environ.pop("OPENBLAS_CORETYPE", None)

import argparse  # noqa: E402 - the environment comes first
import json  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

try:
    import torch
except ImportError:
    torch = None

import dovetail  # noqa: E402

RNG = np.random.default_rng(0)
MATRIX = RNG.standard_normal((1024, 1024)).astype(np.float32)
ROWS = RNG.standard_normal((4096, 256)).astype(np.float32)
LINE = RNG.standard_normal(1 << 20).astype(np.float32)
TOKENS = RNG.integers(0, 5000, (32, 256))
PLACES = RNG.integers(0, 1024, (1024, 1024))

Make = Callable[[Any], Callable[[], object]]


def given(*arrays: Any) -> Callable[[Callable[..., object]], Make]:
    """Return what makes of ``f(lib, *tensors)`` a benchmark on tensors of these arrays."""

    def bind(function: Callable[..., object]) -> Make:
        def make(lib: Any) -> Callable[[], object]:
            tensors = [lib.from_numpy(array.copy()) for array in arrays]
            return lambda: function(lib, *tensors)

        return make

    return bind


def backward(function: Callable[..., Any], *arrays: Any) -> Make:
    """Return a benchmark of the backward of ``f(lib, *leaves)`` alone."""

    def make(lib: Any) -> Callable[[], object]:
        tensors = [lib.from_numpy(array.copy()) for array in arrays]
        leaves = [each.requires_grad_() for each in tensors if each.is_floating_point()]
        result = function(lib, *tensors)
        grad = lib.ones_like(result)
        return lambda: lib.autograd.grad(result, leaves, grad, retain_graph=True)

    return make


def embedding(lib: Any, tokens: Any, weight: Any) -> Any:
    """Look up rows."""
    return lib.nn.functional.embedding(tokens, weight)


def layer_norm(lib: Any, x: Any, weight: Any, bias: Any) -> Any:
    """Normalize rows."""
    return lib.nn.functional.layer_norm(x, (x.shape[-1],), weight, bias)


SCALE, SHIFT = np.ones(256, np.float32), np.zeros(256, np.float32)
WEIGHT = RNG.standard_normal((5000, 64)).astype(np.float32)

BENCHMARKS: dict[str, Make] = {
    "layer_norm": given(ROWS, SCALE, SHIFT)(layer_norm),
    "layer_norm backward": backward(layer_norm, ROWS, SCALE, SHIFT),
    "softmax": given(ROWS)(lambda lib, x: lib.softmax(x, -1)),
    "softmax backward": backward(lambda lib, x: lib.softmax(x, -1), ROWS),
    "log_softmax backward": backward(lambda lib, x: lib.log_softmax(x, -1), ROWS),
    "gelu": given(LINE)(lambda lib, x: lib.nn.functional.gelu(x)),
    "gelu backward": backward(lambda lib, x: lib.nn.functional.gelu(x), LINE),
    "gelu tanh": given(LINE)(lambda lib, x: lib.nn.functional.gelu(x, approximate="tanh")),
    "sigmoid": given(LINE)(lambda lib, x: lib.sigmoid(x)),
    "silu": given(LINE)(lambda lib, x: lib.nn.functional.silu(x)),
    "relu": given(LINE)(lambda lib, x: lib.relu(x)),
    "topk 10 of rows": given(MATRIX)(lambda lib, x: lib.topk(x, 10)),
    "topk 10 of a line": given(LINE)(lambda lib, x: lib.topk(x, 10)),
    "topk half of rows": given(MATRIX)(lambda lib, x: lib.topk(x, 512)),
    "scatter_add": given(MATRIX, PLACES, MATRIX)(lambda lib, x, i, s: lib.scatter_add(x, 1, i, s)),
    "scatter_add dim 0": given(MATRIX, PLACES, MATRIX)(
        lambda lib, x, i, s: lib.scatter_add(x, 0, i, s)
    ),
    "gather backward": backward(lambda lib, x, i: lib.gather(x, 1, i), MATRIX, PLACES),
    "index_put accumulate": given(LINE, PLACES[:64].reshape(-1), LINE[: 64 * 1024])(
        lambda lib, x, i, v: lib.index_put(x, (i,), v, accumulate=True)
    ),
    "index rows backward": backward(lambda lib, x, i: x[i], MATRIX, PLACES[0]),
    "index elements backward": backward(
        lambda lib, x, i, j: x[i, j], MATRIX, PLACES[:64], PLACES[64:128]
    ),
    "embedding": given(TOKENS, WEIGHT)(embedding),
    "embedding backward": backward(embedding, TOKENS, WEIGHT),
    "index_add": given(MATRIX, PLACES[0], MATRIX)(lambda lib, x, i, s: lib.index_add(x, 0, i, s)),
    "sum": given(LINE)(lambda lib, x: x.sum()),
    "mean dim 1": given(MATRIX)(lambda lib, x: x.mean(1)),
    "cumsum": given(LINE)(lambda lib, x: x.cumsum(0)),
    "t().contiguous()": given(MATRIX)(lambda lib, x: x.t().contiguous()),
    "sort": given(MATRIX)(lambda lib, x: x.sort()),
}


def least(runs: list[Callable[[], object]], rounds: int) -> list[float]:
    """Return the least processor time of each of `runs`, in milliseconds; they take turns."""
    best = [float("inf")] * len(runs)
    for _ in range(rounds):
        for index, run in enumerate(runs):
            start = time.thread_time()
            run()
            best[index] = min(best[index], 1e3 * (time.thread_time() - start))
    return best


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--only", default="", help="benchmarks whose name contains this")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    libraries = [dovetail] if torch is None else [dovetail, torch]
    if torch is not None:
        torch.set_num_threads(1)
    rows = []
    for name, make in BENCHMARKS.items():
        if options.only in name:
            times = least([make(lib) for lib in libraries], options.rounds)
            rows.append({"name": name, **dict(zip(("dovetail", "torch"), times, strict=False))})
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    print("milliseconds" + (f"; OPENBLAS_CORETYPE={PINNED} was dropped" if PINNED else ""))
    for row in rows:
        beside = (
            f"{row['torch']:10.3f}{row['dovetail'] / row['torch']:8.2f}" if "torch" in row else ""
        )
        print(f"{row['name']:26}{row['dovetail']:10.3f}{beside}")


if __name__ == "__main__":
    main()
