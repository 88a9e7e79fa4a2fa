"""Measure two revisions of Dovetail in one process: ``make bench-compare BASE=REV``.

The base is unpacked from git into a temporary folder; both copies are imported, and the modules of
the side whose turn it is are those in ``sys.modules``. So both share the process, its memory and
the moment, and the sides take turns within milliseconds.

Options: ``python -m benchmarks.suite.compare REV [--group WORD] [--only WORD] [--rounds N]``.
"""

from __future__ import annotations

import argparse
import importlib
import io
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import machine, measuring, report
from .rows import add_options, chosen

SOURCES = (
    "src",
    "kernel/src",
    "dispatcher/src",
    "plugins/aten/src",
    "plugins/autograd/src",
    "plugins/cpu/src",
)


class Sides:
    """Two copies of Dovetail, of which one is importable at a time."""

    def __init__(self) -> None:
        self.modules: dict[str, dict[str, Any]] = {}
        self.paths: dict[str, list[str]] = {}
        self.present = ""

    def load(self, name: str, root: Path) -> Any:
        """Import the copy below `root`, and make it the present one."""
        self.leave()
        self.present = name
        self.paths[name] = [str(root / source) for source in SOURCES]
        sys.path[:0] = self.paths[name]
        importlib.invalidate_caches()
        made = importlib.import_module("dovetail")
        if not Path(str(made.__file__)).is_relative_to(root):
            raise SystemExit(f"{name} was imported from {made.__file__}, not from {root}")
        made.ops.aten.add.Tensor  # noqa: B018 - loads the base library
        return made

    def leave(self) -> None:
        """Take the modules of the present copy out of ``sys.modules``."""
        if self.present:
            mine = [key for key in sys.modules if key.split(".")[0].startswith("dovetail")]
            self.modules[self.present] = {key: sys.modules.pop(key) for key in mine}
            for path in self.paths[self.present]:
                sys.path.remove(path)

    def turn(self, name: str) -> None:
        """Make `name` the present copy."""
        if name != self.present:
            self.leave()
            self.present = name
            sys.modules.update(self.modules[name])
            sys.path[:0] = self.paths[name]


@contextmanager
def unpacked(revision: str) -> Iterator[Path]:
    """Give a folder with the sources of a revision."""
    archive = subprocess.run(
        ["git", "archive", revision, *SOURCES], cwd=machine.ROOT, capture_output=True, check=True
    )
    with tempfile.TemporaryDirectory(prefix="dovetail-base-") as folder:
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
            files.extractall(folder, filter="data")
        yield Path(folder).resolve()


def main() -> None:
    """Measure and print; the ratio is that of the working tree to the base."""
    parser = argparse.ArgumentParser(prog="benchmarks.suite.compare")
    parser.add_argument("base", help="a revision of this repository")
    add_options(parser)
    options = parser.parse_args()
    machine.prepare(options.threads, tuned=True)
    sides = Sides()
    with unpacked(options.base) as folder:
        libraries = {"new": sides.load("new", machine.ROOT), "base": sides.load("base", folder)}
        measured = []
        clock = measuring.clock_for(options.threads)
        for row in chosen(options):
            made = measuring.measure(row, libraries, options.rounds, clock, sides.turn)
            measured.append(made)
            print(report.line(made, ("new", "base")))
            sys.stdout.flush()
        print(report.summary(measured, ("new", "base")))


if __name__ == "__main__":
    main()
