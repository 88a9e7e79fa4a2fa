"""Every kernel of the overlay `numba` against the one beneath, by the number of elements.

    python benchmarks/overlay_sizes.py [--only WORD] [--rounds N] [--double] [--threads N]

Prints the time of the overlay's kernel as times of the kernel beneath, which takes turns with it,
for arrays from 256 elements to a million; and from how many elements on the overlay computes. With
that least size it is to be at most 1 there and behind.
"""

from __future__ import annotations

import os
import sys

THREADS = int(sys.argv[sys.argv.index("--threads") + 1]) if "--threads" in sys.argv else 1
# Must precede NumPy.
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(THREADS)
os.environ.pop("OPENBLAS_CORETYPE", None)

import argparse  # noqa: E402 - the environment comes first
import statistics  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402
from importlib import import_module  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

import dovetail  # noqa: E402
from dovetail_dispatcher.table import registry  # noqa: E402
from dovetail_dispatcher.table.kernel_namespace import kernel_namespace  # noqa: E402
from dovetail_kernel import backend, backend_key, plugin_manager  # noqa: E402

SIZES = tuple(4**power for power in range(4, 11))
ROUND = 1e-3
"""Seconds that a turn takes, for calls that are shorter."""

Arguments = tuple[Any, ...]
RNG = np.random.default_rng(0)


class Arrays:
    """Arguments of about so many elements.

    Parameters
    ----------
    size
        How many.
    dtype
        Of the numbers.
    """

    def __init__(self, size: int, dtype: Any) -> None:
        self.size, self.dtype = size, np.dtype(dtype)
        self.width = min(256, 2 ** (size.bit_length() // 2))
        self.height = size // self.width

    def numbers(self, *shape: int) -> Any:
        """Return normal numbers."""
        return RNG.standard_normal(shape).astype(self.dtype)

    @property
    def line(self) -> Any:
        return self.numbers(self.size)

    @property
    def chances(self) -> Any:
        """Return numbers between 0 and 1."""
        return 1 / (1 + np.exp(-self.line))

    @property
    def rows(self) -> Any:
        return self.numbers(self.height, self.width)

    @property
    def images(self) -> Any:
        """Return images of 16×16 and 4 channels, or larger ones."""
        side = 8 if self.size < 4096 else 16 if self.size < 1 << 16 else 32
        return self.numbers(max(1, self.size // (4 * side * side)), 4, side, side)

    def places(self, count: int, *shape: int) -> Any:
        """Return indices below `count`."""
        return RNG.integers(0, count, shape)


def _softmax(a: Arrays, dim: int = 1) -> Any:
    x = np.exp(a.rows)
    return x / x.sum(dim, keepdims=True)


def _layer(a: Arrays) -> Arguments:
    x = a.rows
    rest = a.numbers(a.width)
    mean, rstd = x.mean(1, keepdims=True), 1 / x.std(1, keepdims=True)
    return a.rows, x, (a.width,), mean, rstd, rest, rest, [True] * 3


def _batch(a: Arrays) -> Arguments:
    x = a.images
    mean, rstd = x.mean((0, 2, 3)), 1 / x.std((0, 2, 3))
    return a.images, x, mean, mean, rstd, mean, rstd, True, 1e-5, [True] * 3


def _group(a: Arrays) -> Arguments:
    x = a.images
    n, c, h, w = x.shape
    means = a.numbers(n, 2)
    return a.images, x, means, abs(means), a.numbers(c), n, c, h * w, 2, [True] * 3


def _pooled(a: Arrays) -> Arguments:
    x = a.images
    n, c, h, w = x.shape
    corners = np.arange(h // 2)[:, None] * 2 * w + np.arange(w // 2) * 2
    places = np.broadcast_to(corners, (n, c, h // 2, w // 2)).copy()
    grads = a.numbers(*places.shape)
    return grads, x, (2, 2), (2, 2), (0, 0), (1, 1), False, places


def _apart(a: Arrays) -> Arguments:
    return (1, 1), (1, 1), (1, 1), False, (0, 0), 4


def _loss(a: Arrays) -> Arguments:
    return np.ones((), a.dtype), a.line, a.line, 1


ONE = "sigmoid silu mish hardswish hardsigmoid relu hardtanh leaky_relu softplus elu celu gelu"
TWO = "silu_backward mish_backward hardswish_backward hardsigmoid_backward gelu_backward"
OF_ONE = "log_sigmoid_forward exp expm1 erf erfc atan"

MAKERS: dict[str, Callable[[Arrays], Arguments]] = {
    **dict.fromkeys(f"{ONE} {OF_ONE}".split(), lambda a: (a.line,)),
    **dict.fromkeys(["log1p", "rsqrt", "logit"], lambda a: (a.chances,)),
    **dict.fromkeys(TWO.split(), lambda a: (a.line, a.line)),
    **dict.fromkeys(("sigmoid_backward", "tanh_backward"), lambda a: (a.line, a.chances)),
    "threshold_backward": lambda a: (a.line, a.line, 0),
    "clamp": lambda a: (a.line, -1, 1),
    "hardtanh_backward": lambda a: (a.line, a.line, -1, 1),
    "leaky_relu_backward": lambda a: (a.line, a.line, 0.01, False),
    "softplus_backward": lambda a: (a.line, a.line, 1, 20),
    "log_sigmoid_backward": lambda a: (a.line, a.line, a.chances),
    "elu_backward": lambda a: (a.line, 1, 1, 1, False, a.line),
    "addcmul": lambda a: (a.line, a.line, a.line),
    "addcdiv": lambda a: (a.line, a.line, a.chances),
    "lerp.Scalar": lambda a: (a.line, a.line, 0.1),
    "add.Tensor": lambda a: (a.line, a.line),
    "gather": lambda a: (a.rows, 1, a.places(a.width, a.height, a.width)),
    "scatter_add": lambda a: (a.rows, 1, a.places(a.width, a.height, a.width), a.rows),
    "index_add": lambda a: (a.rows, 0, a.places(a.height, a.height), a.rows),
    "embedding_dense_backward": lambda a: (a.rows, a.places(500, a.height), 500, -1, False),
    **dict.fromkeys(("mse_loss", "smooth_l1_loss", "huber_loss"), lambda a: (a.line, a.line)),
    "mse_loss_backward": _loss,
    "smooth_l1_loss_backward": lambda a: (*_loss(a), 1.0),
    "native_layer_norm": lambda a: (a.rows, (a.width,), a.numbers(a.width), a.numbers(a.width),
                                    1e-5),
    "native_layer_norm_backward": _layer,
    "_native_batch_norm_legit_functional": lambda a: (a.images, *[np.ones(4, a.dtype)] * 4, True,
                                                      0.1, 1e-5),
    "native_batch_norm_backward": _batch,
    "native_group_norm": lambda a: (a.images, *[np.ones(4, a.dtype)] * 2, a.images.shape[0], 4,
                                    a.images[0, 0].size, 2, 1e-5),
    "native_group_norm_backward": _group,
    "_softmax": lambda a: (a.rows, 1, False),
    "_softmax dim 0": lambda a: (a.rows, 0, False),
    "_safe_softmax": lambda a: (a.rows, 1),
    "_log_softmax": lambda a: (a.rows, 1, False),
    "_log_softmax dim 0": lambda a: (a.rows, 0, False),
    "_softmax_backward_data": lambda a: (a.rows, _softmax(a), 1, a.dtype),
    "_softmax_backward_data dim 0": lambda a: (a.rows, _softmax(a, 0), 0, a.dtype),
    "_log_softmax_backward_data": lambda a: (a.rows, np.log(_softmax(a)), 1, a.dtype),
    "_log_softmax_backward_data dim 0": lambda a: (a.rows, np.log(_softmax(a, 0)), 0, a.dtype),
    "logsumexp": lambda a: (a.rows, (1,)),
    "cross_entropy": lambda a: (a.rows, a.places(a.width, a.height), 1, -100),
    "cross_entropy_backward": lambda a: (
        np.ones((), a.dtype), np.log(_softmax(a)), a.places(a.width, a.height), 1, -100,
        np.full((), a.height, a.dtype)),
    **{f"{name} dim {dim}": lambda a, dim=dim: (a.rows, dim)
       for name in ("cumsum", "cumprod", "cummax", "cummin") for dim in (1, 0)},
    "cumsum": lambda a: (a.line, 0),
    "max_pool2d_with_indices": lambda a: (a.images, (2, 2), (2, 2), (0, 0), (1, 1), False),
    "max_pool2d_with_indices_backward": _pooled,
    "convolution": lambda a: (a.images, a.numbers(4, 1, 3, 3), None, *_apart(a)),
    "convolution_backward": lambda a: (a.images, a.images, a.numbers(4, 1, 3, 3), [4], *_apart(a),
                                       [True] * 3),
}  # fmt: skip
"""What makes the positional arguments of a kernel; behind its name may stand which ones."""

TENSORS_ALONE = {*f"{ONE} {TWO} {OF_ONE} log1p rsqrt addcmul addcdiv".split()}
"""Those whose arguments here are tensors alone, for which the cpu may have a shorter function."""

KEYWORDS = {"add.Tensor": {"alpha": 0.5}}


def beneath(cover: Any) -> Callable[..., Any]:
    """Return the kernel of the cpu, as a call without other arguments gets it."""
    cpu = backend("cpu")
    if cover.is_helper:
        return getattr(kernel_namespace(cpu), cover.name)
    name, _, overload = cover.name.partition(".")
    kernel = registry.find_or_throw(f"aten::{name}", overload).newest(backend_key("Dense", cpu))
    return kernel.fast_path or kernel.fn if cover.name in TENSORS_ALONE else kernel.fn


def seconds(call: Callable[[], object], count: int) -> float:
    """Return the time of a call, the mean of so many."""
    clock = time.thread_time if THREADS == 1 else time.perf_counter
    start = clock()
    for _ in range(count):
        call()
    return (clock() - start) / count


def ratio(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> float:
    """Return the median of the ratios of both, which take turns."""
    ours()  # compiles
    once = min([seconds(theirs, 3) for _ in range(3)])
    count = max(1, min(2000, int(ROUND / max(once, 1e-7))))
    return statistics.median([seconds(ours, count) / seconds(theirs, count) for _ in range(rounds)])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="kernels whose name contains this")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--double", action="store_true", help="double precision")
    options = parser.parse_args()
    dovetail.backends.cpu.tune_malloc()
    dovetail.set_num_threads(THREADS)
    plugin_manager.load_backend("cpu")
    installed = import_module("dovetail_numba.registration")
    covers = {cover.name: cover for cover in installed.all_covers()}
    assert not set(covers) - {name.split(" ")[0] for name in MAKERS}, "kernels without arguments"
    print(f"{'elements':40}" + "".join(f"{size:>9}" for size in SIZES) + "    least")
    for name, make in MAKERS.items():
        if options.only not in name:
            continue
        cover = covers[name.split(" ")[0]]
        below, keywords = beneath(cover), KEYWORDS.get(cover.name, {})
        cells = []
        for size in SIZES:
            args = make(Arrays(size, np.float64 if options.double else np.float32))
            with np.errstate(all="ignore"):
                cells.append(ratio(
                    lambda: cover.large(below, *args, **keywords),  # noqa: B023
                    lambda: below(*args, **keywords),  # noqa: B023
                    options.rounds,
                ))  # fmt: skip
        print(f"{name:40}" + "".join(f"{each:9.2f}" for each in cells) + f"{cover.least:9}",
              flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
