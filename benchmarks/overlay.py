"""Large arrays with and without the overlay `numba`, against PyTorch, in one process, in turns.

    python benchmarks/overlay.py [--threads N] [--rounds N] [--only WORD] [--json]

Ratios are of the least times. With one thread they are those of the processor, so that other work
on the machine counts as little as possible; with more they are those of the clock.
"""

from __future__ import annotations

import os
import sys

THREADS = int(sys.argv[sys.argv.index("--threads") + 1]) if "--threads" in sys.argv else 1
# Both sides have as many threads. Must precede NumPy.
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(THREADS)
# Threads of BLAS that spin take the processors from PyTorch's: they do so for a millisecond.
os.environ["OPENBLAS_THREAD_TIMEOUT"] = "22"
os.environ.pop("OPENBLAS_CORETYPE", None)

import argparse  # noqa: E402 - the environment comes first
import json  # noqa: E402
import math  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import torch  # noqa: E402

import dovetail  # noqa: E402

RNG = np.random.default_rng(0)
PAUSE = 0.003


def numbers(*shape: int) -> Any:
    """Return normal numbers in single precision."""
    return RNG.standard_normal(shape).astype(np.float32)


LINE, OTHER, THIRD = numbers(1 << 20), numbers(1 << 20), numbers(1 << 20)
CHANCES = 1 / (1 + np.exp(-OTHER))
ROWS, IMAGES = numbers(4096, 256), numbers(16, 32, 56, 56)
MATRIX = numbers(1024, 1024)
CLASSES, LABELS = numbers(4096, 1000), RNG.integers(0, 1000, 4096)
WEIGHT, BIAS = numbers(256), numbers(256)
SCALE, SHIFT = numbers(32), numbers(32)
TOKENS, TABLE = RNG.integers(0, 5000, (32, 256)), numbers(5000, 64)
PLACES = RNG.integers(0, 1024, (1024, 1024))
DEPTH, POINT = numbers(32, 1, 3, 3), numbers(32, 32, 3, 3)

Make = Callable[[Any], Callable[[], object]]
CASES: dict[str, Make] = {}


def forward(name: str, function: Callable[..., object], *arrays: Any) -> None:
    """Add a case that calls ``function(lib, *tensors)``."""

    def make(lib: Any) -> Callable[[], object]:
        tensors = [lib.from_numpy(array.copy()) for array in arrays]
        return lambda: function(lib, *tensors)

    CASES[name] = make


def both(name: str, function: Callable[..., Any], *arrays: Any, leaves: int | None = None) -> None:
    """Add a case that calls ``function(lib, *tensors)``, and one of it with its backward."""
    forward(name, function, *arrays)

    def make(lib: Any) -> Callable[[], object]:
        tensors = [lib.from_numpy(array.copy()) for array in arrays]
        inputs = [each.requires_grad_() for each in tensors if each.is_floating_point()][:leaves]
        result = function(lib, *tensors)
        grad = lib.from_numpy(numbers(*result.shape))

        def run() -> object:
            return lib.autograd.grad(function(lib, *tensors), inputs, grad)

        return run

    CASES[f"{name} + backward"] = make


def f(lib: Any) -> Any:
    """Return ``nn.functional``."""
    return lib.nn.functional


ACTIVATIONS = (
    "gelu silu sigmoid mish softplus logsigmoid elu leaky_relu hardswish hardsigmoid relu tanh "
    "selu relu6"
)
for word in ACTIVATIONS.split():
    both(word, lambda lib, x, word=word: getattr(f(lib), word)(x), LINE)
both("gelu tanh", lambda lib, x: f(lib).gelu(x, approximate="tanh"), LINE)
for word in [
    "exp",
    "log1p",
    "expm1",
    "erf",
    "erfc",
    "sin",
    "log",
    "rsqrt",
    "atan",
    "sinh",
    "asinh",
    "lgamma",
    "logit",
]:
    array = CHANCES if word in ("log", "log1p", "rsqrt", "logit", "lgamma") else LINE
    forward(
        word,
        lambda lib, x, word=word: getattr(lib.special if word in ("logit",) else lib, word)(x),
        array,
    )
forward("pow 2.5", lambda lib, x: x**2.5, CHANCES)
forward("add alpha", lambda lib, x, y: lib.add(x, y, alpha=0.5), LINE, OTHER)
forward("add_ alpha", lambda lib, x, y: x.add_(y, alpha=1e-9), LINE, OTHER)
forward("addcmul", lambda lib, x, y, z: lib.addcmul(x, y, z, value=0.5), LINE, OTHER, THIRD)
forward("addcdiv", lambda lib, x, y, z: lib.addcdiv(x, y, z, value=0.5), LINE, OTHER, CHANCES)
forward("lerp", lambda lib, x, y: lib.lerp(x, y, 0.1), LINE, OTHER)
forward("clamp", lambda lib, x: lib.clamp(x, -1, 1), LINE)
forward("where", lambda lib, x, y: lib.where(x > 0, x, y), LINE, OTHER)
for dim in (-1, 0):
    both(f"softmax dim {dim}", lambda lib, x, dim=dim: lib.softmax(x, dim), ROWS)
    both(f"log_softmax dim {dim}", lambda lib, x, dim=dim: lib.log_softmax(x, dim), ROWS)
    forward(f"cumsum dim {dim}", lambda lib, x, dim=dim: x.cumsum(dim), MATRIX)
    forward(f"cumprod dim {dim}", lambda lib, x, dim=dim: x.cumprod(dim), MATRIX)
    forward(f"cummax dim {dim}", lambda lib, x, dim=dim: x.cummax(dim), MATRIX)
    both(f"logsumexp dim {dim}", lambda lib, x, dim=dim: x.logsumexp(dim), MATRIX)
forward("logcumsumexp", lambda lib, x: x.logcumsumexp(1), MATRIX)
forward("cumsum line", lambda lib, x: x.cumsum(0), LINE)
both("cross_entropy", lambda lib, x, t: f(lib).cross_entropy(x, t), CLASSES, LABELS)
both("nll_loss", lambda lib, x, t: f(lib).nll_loss(x, t), CLASSES, LABELS)
for word in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
    both(word, lambda lib, x, y, word=word: getattr(f(lib), word)(x, y), LINE, OTHER, leaves=1)
both(
    "binary_cross_entropy",
    lambda lib, x, y: f(lib).binary_cross_entropy(x, y),
    CHANCES,
    CHANCES[::-1].copy(),
    leaves=1,
)
both(
    "bce with logits",
    lambda lib, x, y: f(lib).binary_cross_entropy_with_logits(x, y),
    LINE,
    CHANCES,
    leaves=1,
)
both("layer_norm", lambda lib, x, w, b: f(lib).layer_norm(x, (256,), w, b), ROWS, WEIGHT, BIAS)
both("rms_norm", lambda lib, x, w: f(lib).rms_norm(x, (256,), w), ROWS, WEIGHT)
both(
    "batch_norm",
    lambda lib, x, w, b: f(lib).batch_norm(x, None, None, w, b, True),
    IMAGES,
    SCALE,
    SHIFT,
)
both("group_norm", lambda lib, x, w, b: f(lib).group_norm(x, 8, w, b), IMAGES, SCALE, SHIFT)
both("max_pool 2", lambda lib, x: f(lib).max_pool2d(x, 2), IMAGES)
both("max_pool 3/2", lambda lib, x: f(lib).max_pool2d(x, 3, 2, 1), IMAGES)
both("avg_pool 2", lambda lib, x: f(lib).avg_pool2d(x, 2), IMAGES)
both("adaptive_avg_pool", lambda lib, x: f(lib).adaptive_avg_pool2d(x, 1), IMAGES)
both("depthwise", lambda lib, x, w: f(lib).conv2d(x, w, None, 1, 1, 1, 32), IMAGES, DEPTH)
both("depthwise /2", lambda lib, x, w: f(lib).conv2d(x, w, None, 2, 1, 1, 32), IMAGES, DEPTH)
both("conv 3x3", lambda lib, x, w: f(lib).conv2d(x, w, None, 1, 1), IMAGES, POINT)
both("gather", lambda lib, x, i: x.gather(1, i), MATRIX, PLACES)
forward("scatter_add", lambda lib, x, i, s: x.scatter_add(1, i, s), MATRIX, PLACES, MATRIX)
forward("scatter_add dim 0", lambda lib, x, i, s: x.scatter_add(0, i, s), MATRIX, PLACES, MATRIX)
both("index_select", lambda lib, x, i: x.index_select(0, i), MATRIX, PLACES[0])
forward("index_add", lambda lib, x, i, s: x.index_add(0, i, s), MATRIX, PLACES[0], MATRIX)
both("embedding", lambda lib, i, w: f(lib).embedding(i, w), TOKENS, TABLE)
both("index rows", lambda lib, x, i: x[i], MATRIX, PLACES[0])
both("dropout", lambda lib, x: f(lib).dropout(x, 0.1), LINE)


def optimizer(name: str, **options: Any) -> None:
    """Add a case that takes steps with an optimizer."""

    def make(lib: Any) -> Callable[[], object]:
        parameter = lib.nn.Parameter(lib.from_numpy(LINE.copy()))
        parameter.grad = lib.from_numpy(OTHER.copy())
        return getattr(lib.optim, name)([parameter], lr=1e-6, **options).step

    CASES[f"{name} {' '.join(options)}".strip()] = make


optimizer("SGD")
optimizer("SGD", momentum=0.9)
optimizer("Adam")
optimizer("AdamW")
optimizer("RMSprop")
optimizer("Adagrad")


def model(name: str, build: Callable[[Any], Any], array: Any, classes: int) -> None:
    """Add a training step of a model."""

    def make(lib: Any) -> Callable[[], object]:
        lib.manual_seed(0)
        net = build(lib.nn)
        steps = lib.optim.Adam(net.parameters(), lr=1e-4)
        x = lib.from_numpy(array.copy())
        labels = lib.from_numpy(np.arange(len(array)) % classes)

        def run() -> None:
            steps.zero_grad()
            result = net(x)
            f(lib).cross_entropy(result.reshape(len(array), -1, classes)[:, -1], labels).backward()
            steps.step()

        return run

    CASES[f"model: {name}"] = make


model(
    "MLP 256-512-10",
    lambda nn: nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, 10)),
    ROWS[:512],
    10,
)
model("CNN 28x28", lambda nn: nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(32 * 49, 10)), numbers(64, 1, 28, 28), 10)  # fmt: skip
model("depthwise CNN", lambda nn: nn.Sequential(
    nn.Conv2d(3, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.Hardswish(),
    nn.Conv2d(32, 32, 3, 1, 1, groups=32), nn.BatchNorm2d(32), nn.Hardswish(),
    nn.Conv2d(32, 64, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
), numbers(16, 3, 64, 64), 10)  # fmt: skip
model("GPT block", lambda nn: nn.Sequential(
    nn.TransformerEncoderLayer(128, 4, 512, 0.0, "gelu", batch_first=True, norm_first=True),
    nn.LayerNorm(128), nn.Linear(128, 64)), numbers(16, 64, 128), 64)  # fmt: skip


def _last(nn: Any) -> Any:
    """Return an LSTM with a layer behind it."""

    class Net(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.out = nn.LSTM(64, 128, batch_first=True), nn.Linear(128, 10)

        def forward(self, x: Any) -> Any:
            return self.out(self.lstm(x)[0][:, -1])

    return Net()


model("LSTM", _last, numbers(32, 32, 64), 10)


def least(
    runs: list[Callable[[], object]], rounds: int, switch: Callable[[int], None]
) -> list[float]:
    """Return the least time of each of `runs`, in milliseconds; they take turns."""
    clock = time.thread_time if THREADS == 1 else time.perf_counter
    best = [math.inf] * len(runs)
    for turn in range(rounds + 1):
        for index, run in enumerate(runs):
            switch(index)
            if THREADS > 1:
                time.sleep(PAUSE)  # until threads that spin have gone to sleep
            start = clock()
            run()
            if turn:
                best[index] = min(best[index], 1e3 * (clock() - start))
    return best


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--without", action="store_true", help="leave the overlay out")
    options = parser.parse_args()
    dovetail.backends.cpu.tune_malloc()  # memory is not given back, on either side
    torch.set_num_threads(THREADS)
    rows = []
    for name, make in CASES.items():
        if options.only not in name:
            continue
        row: dict[str, Any] = {"name": name}
        plain, theirs = make(dovetail), make(torch)
        row["plain"], row["torch"] = least([plain, theirs], options.rounds, lambda _: None)
        if not options.without:
            with dovetail.use_overlay("numba"):
                compiled = make(dovetail)
                row["overlay"], other = least([compiled, theirs], options.rounds, lambda _: None)
            row["torch"] = min(row["torch"], other)
        rows.append(row)
        if not options.json:
            print(_line(row), flush=True)
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    for group in ("", "model: "):
        chosen = [row for row in rows if row["name"].startswith("model: ") == bool(group)]
        for side in ("plain", "overlay"):
            if chosen and side in chosen[0]:
                logs = [math.log(row[side] / row["torch"]) for row in chosen]
                mean = math.exp(sum(logs) / len(logs))
                print(f"{group or 'arrays: '}{side} {mean:.2f} of PyTorch's time over {len(logs)}")


def _line(row: dict[str, Any]) -> str:
    text = f"{row['name']:32}{row['torch']:10.3f} ms torch{row['plain'] / row['torch']:8.2f} plain"
    return text + (f"{row['overlay'] / row['torch']:8.2f} overlay" if "overlay" in row else "")


if __name__ == "__main__":
    main()
