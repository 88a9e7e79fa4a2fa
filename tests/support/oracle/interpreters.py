"""The same trials in two interpreters, with compiled code and without: values, errors, warnings,
strides, versions, graphs, and the operators that a dispatch mode sees.

`python -m oracle.interpreters NAME FIRST COUNT` compares more of them, with `tests/support` on the
path.
"""

from __future__ import annotations

import functools
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from random_programs import closeness, random_program, run

import dovetail
from dovetail.utils._python_dispatch import TorchDispatchMode

from .driver import heard
from .hunts import HUNTS
from .outcomes import Closeness, Comparison, Outcome, outcome
from .trials import ran

__all__ = ["NAMES", "differences"]

PROGRAMS = "programs with graphs"
"""The programs that PyTorch runs beside: every step shows versions, nodes and views."""
NAMES = (*HUNTS, PROGRAMS)
TOLERANCE = {"float32": 1e-5, "complex64": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}
"""Compiled kernels round transcendental functions and long sums otherwise than NumPy does."""

BEGIN = "from oracle.interpreters import main; main()"


class Raised(Exception):
    """Stands for an exception of another interpreter: its type's name, and its text."""


class _Log(TorchDispatchMode):
    """Records the names of the operators that it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def outcomes(name: str, seeds: range) -> Iterator[Outcome | None]:
    """Yield what the trials of some seeds come to here; None where there is nothing to try."""
    if name == PROGRAMS:
        for seed in seeds:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield outcome(functools.partial(run, dovetail, random_program(seed)))
        return
    hunt = HUNTS[name]
    for seed in seeds:
        trial = hunt.trial(*hunt.of_seed(seed))
        if trial is None:
            yield None
            continue
        found = ran(trial, hunt.plan)
        with _Log() as log:
            logged = ran(trial, hunt.plan)
        found.result = {"values": found.result, "below a mode": logged.result, "log": log.names}
        yield found


def _portable(found: Outcome | None) -> Outcome | None:
    """Return an outcome whose exception and warnings any interpreter can read."""
    if found is None:
        return None
    error = found.error and Raised(type(found.error).__name__, str(found.error))
    return Outcome(found.result, error, heard(found.warned))  # type: ignore[arg-type]


def elsewhere(name: str, seeds: range, **environment: str) -> list[Outcome | None]:
    """Return the outcomes of trials in an interpreter of its own."""
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    arguments = [name, str(seeds.start), str(len(seeds)), "--write"]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", BEGIN, *arguments],
        stdout=subprocess.PIPE,
        check=True,
        env={**os.environ, "PYTHONPATH": path, **environment},
    )
    found: list[Outcome | None] = pickle.loads(done.stdout)
    return found


def _close(dtype: str) -> Closeness:
    return Closeness(TOLERANCE.get(dtype, 1e-9), TOLERANCE.get(dtype, 1e-9))


COMPARISON = Comparison(
    "interpreter without compiled code",
    _close,
    lambda mine, other: mine.args == other.args,
    lambda caught: caught,
)


def differences(name: str, seeds: range) -> dict[int, str]:
    """Return what differs, by seed, between an interpreter with compiled code and one without."""
    compiled = elsewhere(name, seeds, DOVETAIL_NATIVE="1")
    plain = elsewhere(name, seeds, DOVETAIL_NATIVE="0")
    found = {}
    for seed, mine, other in zip(seeds, compiled, plain, strict=True):
        if mine is None or other is None:
            if mine is not other:
                found[seed] = "only one interpreter has something to try"
            continue
        close = closeness(random_program(seed)) if name == PROGRAMS else _close
        kind, text = replace(COMPARISON, close=close).of(mine, other)
        if kind not in ("same", "both raise"):
            found[seed] = f"{kind}: {text}"
    return found


def main() -> None:
    """Compare trials, or with `--write` run them and write their outcomes to standard output."""
    name, seeds = sys.argv[1], range(int(sys.argv[2]), int(sys.argv[2]) + int(sys.argv[3]))
    if sys.argv[4:] == ["--write"]:
        pickle.dump([_portable(each) for each in outcomes(name, seeds)], sys.stdout.buffer)
        return
    for seed, text in differences(name, seeds).items():
        print(seed, text)
    print(f"{name}: {len(seeds)} trials compared")


if __name__ == "__main__":
    main()
