"""Measure two revisions of Dovetail in one process: ``make bench-compare BASE=REV``.

The base is unpacked from git into a temporary folder; both copies are imported, and the modules of
the side whose turn it is are those in ``sys.modules``. So both share the process, its memory and
the moment, and the sides take turns within milliseconds. A base with compiled code is compiled
first; a module that a side took from elsewhere ends the program.

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

NATIVE = "plugins/native"
PACKAGES = (".", "kernel", "dispatcher", "plugins/aten", "plugins/autograd", "plugins/cpu", NATIVE)
"""Folders of the distributions that are measured; a base may lack some."""


class Sides:
    """Two copies of Dovetail, of which one is importable at a time."""

    def __init__(self) -> None:
        self.modules: dict[str, dict[str, Any]] = {}
        self.paths: dict[str, list[str]] = {}
        self.roots: dict[str, Path] = {}
        self.present = ""

    def load(self, name: str, root: Path) -> Any:
        """Import the copy below `root`, and make it the present one."""
        self.leave()
        self.present = name
        self.roots[name] = root
        folders = [root / package / "src" for package in PACKAGES]
        self.paths[name] = [str(each) for each in folders if each.is_dir()]
        sys.path[:0] = self.paths[name]
        importlib.invalidate_caches()
        made = importlib.import_module("dovetail")
        (made.ones(1, requires_grad=True) + 1).backward()  # loads the plugins that rows use
        self.check()
        return made

    def check(self) -> None:
        """Exit if the present copy has a module that lies elsewhere."""
        root = self.roots[self.present]
        for key in _mine():
            file = getattr(sys.modules[key], "__file__", None)
            if file is not None and not Path(file).resolve().is_relative_to(root):
                raise SystemExit(f"{self.present} imported {key} from {file}, not from {root}")

    def leave(self) -> None:
        """Take the modules of the present copy out of ``sys.modules``."""
        if self.present:
            self.modules[self.present] = {key: sys.modules.pop(key) for key in _mine()}
            for path in self.paths[self.present]:
                sys.path.remove(path)

    def turn(self, name: str) -> None:
        """Make `name` the present copy."""
        if name != self.present:
            self.leave()
            self.present = name
            sys.modules.update(self.modules[name])
            sys.path[:0] = self.paths[name]


def _mine() -> list[str]:
    """Return the names of the modules of Dovetail that are imported."""
    return [key for key in sys.modules if key.split(".")[0].startswith("dovetail")]


@contextmanager
def unpacked(revision: str) -> Iterator[Path]:
    """Give a folder with the sources of a revision, its core compiled if it has one."""

    def git(*words: str) -> bytes:
        return subprocess.run(
            ["git", *words], cwd=machine.ROOT, capture_output=True, check=True
        ).stdout

    wanted = [NATIVE, *[str(Path(each, "src")) for each in PACKAGES if each != NATIVE]]
    found = git("ls-tree", "--name-only", revision, "--", *wanted).decode().split()
    with tempfile.TemporaryDirectory(prefix="dovetail-base-") as folder:
        with tarfile.open(fileobj=io.BytesIO(git("archive", revision, *found))) as files:
            files.extractall(folder, filter="data")
        root = Path(folder).resolve()
        if NATIVE in found:
            objects = machine.ROOT / NATIVE / "build"
            objects.mkdir(exist_ok=True)
            (root / NATIVE / "build").symlink_to(objects)  # names of objects are checksums
            subprocess.run([sys.executable, root / NATIVE / "hatch_build.py"], check=True)
        yield root


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
        for name in libraries:
            sides.turn(name)
            sides.check()
        print(report.summary(measured, ("new", "base")))


if __name__ == "__main__":
    main()
