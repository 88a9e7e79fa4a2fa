"""Trains, registers, loads data and raises errors for hours in one process, and watches it.

    python tools/soak.py --minutes 120

Prints a row every `--minutes`/24: resident memory, open handles, threads, live objects that the
collector knows, and the median processor time of each kind of work. Afterwards compares the last
third with the second one, since caches fill in the first: the status is 1 if memory grew by more
than 2 %, objects by more than 0.1 %, if handles or threads grew, or if a kind of work became slower
by half. `--plot FILE` draws the rows, which needs matplotlib.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import itertools
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dovetail as dt
from dovetail import func, nn
from dovetail.library import Library
from dovetail.utils._python_dispatch import TorchDispatchMode
from dovetail.utils.checkpoint import checkpoint
from dovetail.utils.data import DataLoader, TensorDataset

ROWS = 24
NUMBERS = itertools.count()


class Training:
    """A small convolutional network that learns, one step a call."""

    def __init__(self) -> None:
        self.net = nn.Sequential(
            nn.Conv2d(1, 8, 3),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(8 * 9, 10),
        )
        self.optimizer = dt.optim.Adam(self.net.parameters(), lr=1e-3)
        self.images, self.labels = dt.rand(16, 1, 8, 8), dt.randint(0, 10, (16,))

    def __call__(self) -> None:
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.net(self.images), self.labels)
        loss.backward()
        self.optimizer.step()
        if not bool(dt.isfinite(loss)):
            raise ValueError(f"the loss of the training became {loss.item()}")


def _sequences() -> None:
    cell = nn.GRU(4, 8, batch_first=True)
    out, _ = cell(dt.rand(3, 5, 4))
    checkpoint(lambda each: (each * each).sum(), out, use_reentrant=False).backward()


def _transforms() -> None:
    def square(x: Any) -> Any:
        return (x * x).sum()

    func.hessian(square)(dt.rand(3))
    func.vmap(func.grad(square))(dt.rand(4, 3))
    func.jvp(square, (dt.rand(3),), (dt.rand(3),))


def _registration() -> None:
    """Register an operator with a derivative, call it, and take it back."""
    name = f"soak{next(NUMBERS)}"
    library = Library(name, "DEF")
    try:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x + x, "CPU")
        dt.library.register_autograd(
            f"{name}::twice", lambda ctx, gradient: gradient * 2, lib=library
        )
        x = dt.rand(3, requires_grad=True)
        getattr(dt.ops, name).twice(x).sum().backward()
    finally:
        library._destroy()


def _data() -> None:
    loader = DataLoader(TensorDataset(dt.rand(12, 2), dt.arange(12)), batch_size=4, shuffle=True)
    for batch, places in loader:
        batch[places % 4 == 0].sum().item()


def _workers() -> None:
    """Load with worker processes, which come and go."""
    loader = DataLoader(TensorDataset(dt.rand(8, 2)), batch_size=4, num_workers=2)
    for (batch,) in loader:
        batch.sum().item()


def _files() -> None:
    kept = io.BytesIO()
    dt.save({"weights": dt.rand(100), "step": 3}, kept)
    kept.seek(0)
    dt.load(kept)


class _Mode(TorchDispatchMode):
    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


def _modes() -> None:
    with _Mode(), dt.autocast("cpu", dtype=dt.bfloat16):
        dt.rand(4, 4) @ dt.rand(4, 4)


def _errors() -> None:
    """Raise errors in kernels, backwards, transforms and modes, and catch them."""
    x = dt.rand(3, requires_grad=True)

    def fails(gradient: Any) -> Any:
        raise ZeroDivisionError

    hooked = x * 2
    hooked.register_hook(fails)
    wrong: list[Callable[[], Any]] = [
        lambda: x + dt.rand(4),
        lambda: dt.zeros(2, 3) @ dt.zeros(2, 3),
        lambda: x[7],
        lambda: hooked.sum().backward(),
        lambda: func.vmap(lambda each: each.item())(dt.rand(3)),
        lambda: func.grad(lambda each: each * 2)(x),
        lambda: dt.load(io.BytesIO(b"not a file")),
    ]
    for call in wrong:
        try:
            call()
        except Exception:
            continue
        raise AssertionError(f"work {wrong.index(call)} of the errors raised none")


def _threads() -> None:
    x = dt.rand(8, requires_grad=True)
    loss = (x * x).sum()
    threads = [threading.Thread(target=lambda: loss.backward(retain_graph=True)) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def work() -> dict[str, tuple[Callable[[], None], int]]:
    """Return the kinds of work: what a call does, and in how many rounds it is called once."""
    return {
        "training": (Training(), 1),
        "sequences": (_sequences, 1),
        "transforms": (_transforms, 1),
        "registration": (_registration, 1),
        "data": (_data, 1),
        "files": (_files, 1),
        "modes": (_modes, 1),
        "errors": (_errors, 1),
        "threads": (_threads, 4),
        "workers": (_workers, 200),
    }


@dataclass
class Row:
    """What is seen of the process in one stretch of time; `times` are medians."""

    minutes: float
    resident: float
    handles: int
    threads: int
    objects: int
    rounds: int
    times: dict[str, float] = field(default_factory=dict)

    @classmethod
    def seen(cls, start: float, rounds: int, times: dict[str, list[float]]) -> Row:
        """Return the row of now; memory is in MiB."""
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return cls(
            (time.monotonic() - start) / 60,
            pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
            len(os.listdir("/proc/self/fd")),
            threading.active_count(),
            len(gc.get_objects()),
            rounds,
            {name: statistics.median(each) for name, each in times.items()},
        )

    def __str__(self) -> str:
        took = " ".join([f"{name} {each * 1e6:.0f}" for name, each in self.times.items()])
        return (
            f"{self.minutes:7.1f} min {self.resident:7.1f} MiB {self.handles} handles "
            f"{self.threads} threads {self.objects} objects {self.rounds} rounds; µs: {took}"
        )


def soak(minutes: float, share: float) -> list[Row]:
    """Work for some minutes, a `share` of the time; return the rows, which are printed too."""
    kinds = work()
    start = time.monotonic()
    rows: list[Row] = []
    times: dict[str, list[float]] = {}
    for turn in itertools.count():
        begun = time.perf_counter()
        for name, (call, every) in kinds.items():
            if turn % every == 0:
                before = time.process_time()
                call()
                times.setdefault(name, []).append(time.process_time() - before)
        time.sleep((time.perf_counter() - begun) * (1 / share - 1))
        if time.monotonic() - start >= minutes * 60 * (len(rows) + 1) / ROWS:
            rows.append(Row.seen(start, turn + 1, times))
            print(rows[-1], flush=True)
            times = {}
        if len(rows) == ROWS:
            return rows
    raise AssertionError


def growth(rows: list[Row]) -> list[str]:
    """Return what grew between the second third of the rows and the last."""
    middle, last = rows[ROWS // 3 : 2 * ROWS // 3], rows[2 * ROWS // 3 :]
    found = []
    for name, allowed in (
        ("resident", 1.02),
        ("handles", 1.0),
        ("threads", 1.0),
        ("objects", 1.001),
    ):
        before = statistics.median([getattr(each, name) for each in middle])
        after = statistics.median([getattr(each, name) for each in last])
        if after > before * allowed:
            found.append(f"{name} grew from {before} to {after}")
    for kind in middle[0].times:
        before, after = (
            statistics.median([each.times[kind] for each in part if kind in each.times])
            for part in (middle, last)
        )
        if after > before * 1.5:
            found.append(f"{kind} took {before * 1e6:.0f} µs, now {after * 1e6:.0f}")
    return found


def plot(rows: list[Row], path: Path) -> None:
    """Draw memory and the times of the kinds of work over the minutes."""
    from matplotlib import pyplot

    figure, (above, below) = pyplot.subplots(2, sharex=True, figsize=(8, 6))
    minutes = [each.minutes for each in rows]
    above.plot(minutes, [each.resident for each in rows], label="resident memory, MiB")
    for name in ("handles", "threads"):
        above.plot(minutes, [getattr(each, name) for each in rows], label=name)
    for kind in rows[0].times:
        seen = [each for each in rows if kind in each.times]
        below.semilogy(
            [each.minutes for each in seen], [each.times[kind] * 1e6 for each in seen], label=kind
        )
    above.set_ylim(0)
    above.legend()
    below.set(xlabel="minutes", ylabel="µs, median")
    below.legend(ncols=2)
    figure.savefig(path)


def main() -> None:
    """Run the soak of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--share", type=float, default=1, help="of the time that is worked")
    parser.add_argument("--plot", type=Path, help="an image of the rows")
    chosen = parser.parse_args()
    dt.manual_seed(0)
    with contextlib.suppress(KeyboardInterrupt):
        rows = soak(chosen.minutes, chosen.share)
        if chosen.plot:
            plot(rows, chosen.plot)
        found = growth(rows)
        print("\n".join(found) or "nothing grew")
        sys.exit(bool(found))


if __name__ == "__main__":
    main()
