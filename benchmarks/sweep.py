"""Time a small call of every operator in PyTorch's own table of operators against PyTorch's
(``make bench-sweep``).

The suite measures chosen rows over sizes and modes; this shows what none of them stands for. Of
each operator one of PyTorch's samples is called without recording, in short turns of both sides,
on one thread. What is not computed by one of the sides is counted, not timed.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.suite import machine, measuring, report
from benchmarks.suite.row import Row, Run

MOST = 2000
"""Elements of a sample, at most: the call is to be measured, not the loop."""


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
    found = dovetail
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not None:
        return found
    if not hasattr(dovetail.Tensor, name):
        return getattr(dovetail.nn.functional, name)
    return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)


def rows(dovetail: Any, torch: Any) -> Iterator[Row]:
    """Yield a row for each operator that has a sample of this size in float32."""
    table = importlib.import_module("torch.testing._internal.common_methods_invocations").op_db
    for entry in table:
        if torch.float32 not in entry.dtypes:
            continue
        samples = [
            each
            for each in entry.sample_inputs("cpu", torch.float32, requires_grad=False)
            if isinstance(each.input, torch.Tensor)
            and each.input.layout is torch.strided
            and 0 < each.input.numel() <= MOST
        ]
        if samples:
            name = f"{entry.name} {entry.variant_test_name}".strip()
            sample = samples[len(samples) // 2]
            yield Row("operators", "operators", name, calling(entry, sample, torch), "no_grad")


def calling(entry: Any, sample: Any, torch: Any) -> Callable[[Any], Run]:
    """Return what makes, for a library, the call of an operator with a sample."""

    def make(lib: Any) -> Run:
        args, kwargs = (sample.input, *sample.args), sample.kwargs
        if lib is torch:
            return lambda: entry.op(*args, **kwargs)
        function = function_of(entry.name, lib)
        own = converted(args, lib, torch), converted(kwargs, lib, torch)
        return lambda: function(*own[0], **own[1])

    return make


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
    libraries = {"dovetail": dovetail, "torch": torch}
    measured = [
        measuring.measure(row, libraries, options.rounds, time.thread_time)
        for row in rows(dovetail, torch)
        if options.only in row.name
    ]
    print(report.summary(measured, tuple(libraries), options.worst))
    failed = [report.line(each, tuple(libraries)) for each in measured if "failed" in each]
    print(f"{len(failed)} are computed by one side alone:", *failed, sep="\n")
    if options.json:
        report.write(Path(options.json), machine.about(1, tuned=True), measured)


if __name__ == "__main__":
    main()
