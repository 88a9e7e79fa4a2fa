"""Time a small call of every operator in PyTorch's own table of operators against PyTorch's
(``make bench-sweep``).

The suite measures chosen rows over sizes and modes; this shows what none of them stands for. Of
each operator one of PyTorch's samples is called without recording, in short turns of both sides,
on one thread. What is not computed by one of the sides is counted, not timed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.suite import machine

MOST = 2000
"""Elements of a sample, at most: the call is to be measured, not the loop."""
TURN = 1e-3
"""Seconds that a turn of one side takes, about."""

Run = Callable[[], object]


def converted(value: Any, dovetail: Any, torch: Any) -> Any:
    """Return an argument with tensors and dtypes of Dovetail in the place of PyTorch's."""
    if isinstance(value, torch.Tensor):
        return dovetail.from_numpy(value.detach().numpy().copy())
    if isinstance(value, torch.dtype):
        return getattr(dovetail, str(value).removeprefix("torch."))
    if isinstance(value, list | tuple):
        return type(value)([converted(each, dovetail, torch) for each in value])
    if isinstance(value, dict):
        return {name: converted(each, dovetail, torch) for name, each in value.items()}
    return value


def function_of(name: str, dovetail: Any) -> Callable[..., Any]:
    """Return the function of a dotted name, or one that calls the method of that name."""
    for prefix in ("", "nn.functional."):
        found = dovetail
        for part in (prefix + name).split("."):
            found = getattr(found, part, None)
        if found is not None:
            return found
    return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)


def calls(dovetail: Any, torch: Any) -> Iterator[tuple[str, Run | None, Run | None]]:
    """Yield the name of each operator and a call of it on both sides, None without a sample."""
    table = importlib.import_module("torch.testing._internal.common_methods_invocations").op_db
    for entry in table:
        name = f"{entry.name} {entry.variant_test_name}".strip()
        if torch.float32 not in entry.dtypes:
            continue
        samples = [
            each
            for each in entry.sample_inputs("cpu", torch.float32, requires_grad=False)
            if isinstance(each.input, torch.Tensor)
            and each.input.layout is torch.strided
            and 0 < each.input.numel() <= MOST
        ]
        if not samples:
            yield name, None, None
            continue
        sample = samples[len(samples) // 2]
        given = (sample.input, *sample.args)
        try:
            ours = converted(given, dovetail, torch), converted(sample.kwargs, dovetail, torch)
        except (TypeError, AttributeError):  # a layout or a dtype that NumPy has not
            yield name, None, None
            continue
        function = function_of(entry.name, dovetail)
        yield name, bound(function, *ours), bound(entry.op, given, sample.kwargs)


def bound(function: Callable[..., Any], args: Any, kwargs: Any) -> Run:
    """Return the call of a function."""
    return lambda: function(*args, **kwargs)


def seconds(run: Run, count: int) -> float:
    """Return the processor time of one call, as the mean of `count`."""
    begin = time.thread_time()
    for _ in range(count):
        run()
    return (time.thread_time() - begin) / count


def timed(sides: tuple[Run, Run], rounds: int) -> tuple[float, float, float]:
    """Return the medians of both sides in microseconds, and of the ratios."""
    counts = []
    for run in sides:
        seconds(run, 3)
        counts.append(max(1, min(300, int(TURN / max(seconds(run, 3), 1e-7)))))
    turns = [
        [seconds(run, count) for run, count in zip(sides, counts, strict=True)]
        for _ in range(rounds)
    ]
    ours, theirs = zip(*turns, strict=True)
    ratios = [a / b for a, b in turns]
    return (
        statistics.median(ours) * 1e6,
        statistics.median(theirs) * 1e6,
        statistics.median(ratios),
    )


def main() -> None:
    """Measure, and print the geometric mean and the slowest operators."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--worst", type=int, default=40, help="how many are printed")
    parser.add_argument("--only", default="", help="operators whose name contains this")
    parser.add_argument("--json", default="", help="a file for all rows")
    options = parser.parse_args()
    machine.prepare(1, tuned=True)
    warnings.simplefilter("ignore")
    torch, dovetail = machine.torch(1), importlib.import_module("dovetail")
    if torch is None:
        raise SystemExit("PyTorch is not installed: make .venv/.stamps/oracle")
    rows, left_out = [], []
    with torch.no_grad(), dovetail.no_grad():
        for name, ours, theirs in calls(dovetail, torch):
            if options.only not in name:
                continue
            try:
                if ours is None or theirs is None:
                    raise LookupError("no sample of this size")
                rows.append((*timed((ours, theirs), options.rounds), name))
            except Exception as error:
                left_out.append(f"{name}: {type(error).__name__}: {str(error)[:80]}")
    rows.sort(key=lambda row: -row[2])
    for mine, other, ratio, name in rows[: options.worst]:
        print(f"{ratio:7.2f} {mine:9.1f} {other:9.1f}  {name}")
    logarithms = [math.log(ratio) for _, _, ratio, _ in rows]
    quartiles = statistics.quantiles([row[2] for row in rows], n=4) if len(rows) > 1 else []
    print(
        f"{len(rows)} operators: geometric mean {math.exp(statistics.fmean(logarithms)):.2f}, "
        f"quartiles {', '.join([f'{each:.2f}' for each in quartiles])}; "
        f"{len(left_out)} left out, which raised or have no sample of this size"
    )
    if options.json:
        found = {"about": machine.about(1, tuned=True), "rows": rows, "left out": left_out}
        Path(options.json).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
