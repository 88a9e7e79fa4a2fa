"""Counts the lines of the compiled core that tests reach, by gcov.

    python tools/c_coverage.py [--show FILE]... [PYTEST ARGUMENT...]

The core is compiled into build/covered with counters, and the tests run with it (default: those of
the native room). Kernels, which are compiled once for every instruction set, count as reached where
one of the copies was. Needs gcc with gcov.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOM = ROOT / "plugins" / "native"
FOLDER = ROOT / "build" / "covered"
COUNTERS = FOLDER / "objects"


def main(arguments: Sequence[str]) -> int:
    """Compile, run the tests and print a table; return the status of pytest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="append", default=[], metavar="FILE")
    own, rest = parser.parse_known_args(arguments)
    compile_with_counters()
    has_paths = any([(ROOT / each.partition("::")[0]).exists() for each in rest])
    status = run_tests([*rest, *([] if has_paths else [str(ROOM / "tests")])])
    report(reached_lines(), own.show)
    return status


def run_tests(arguments: Sequence[str]) -> int:
    """Run tests with counters that begin at zero; return the status of pytest."""
    for path in COUNTERS.glob("*.gcda"):
        path.unlink()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    settings = {**os.environ, "PYTHONPATH": str(FOLDER), "DOVETAIL_NATIVE": "1"}
    return subprocess.run(command, cwd=ROOT, env=settings, check=False).returncode


def tests_by_line(files: Sequence[Path]) -> dict[tuple[str, int], list[str]]:
    """Return for each line of the room which of some test files reach it. A line without a counter
    of its own is reached as the one before it.
    """
    compile_with_counters()
    by_line: dict[tuple[str, int], list[str]] = {}
    for test in files:
        run_tests([str(test)])
        name = test.relative_to(ROOT).as_posix()
        for file, lines in reached_lines().items():
            is_reached = False
            for line in range(1, max(lines) + 1):
                is_reached = lines.get(line, is_reached)
                by_line.setdefault((file, line), []).extend([name] * is_reached)
    return by_line


def compile_with_counters() -> None:
    """Build the core with gcov's counters, whose notes stay beside the objects."""
    spec = importlib.util.spec_from_file_location("hatch_build", ROOM / "hatch_build.py")
    assert spec is not None and spec.loader is not None
    hatch_build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hatch_build)
    vars(hatch_build)["OBJECTS"] = COUNTERS
    os.environ |= {"CFLAGS": "--coverage -O1 -g1", "LDFLAGS": "--coverage"}
    hatch_build.main(str(FOLDER))
    del os.environ["CFLAGS"], os.environ["LDFLAGS"]


def reached_lines() -> dict[str, dict[int, bool]]:
    """Return for every file of the room which of its lines ran."""
    found: dict[str, dict[int, bool]] = defaultdict(dict)
    words = ["gcov", "--json-format", "--stdout", *map(str, COUNTERS.glob("*.gcda"))]
    printed = subprocess.run(words, capture_output=True, text=True, cwd=FOLDER, check=True)
    for document in filter(None, printed.stdout.splitlines()):
        for file in json.loads(document)["files"]:
            path = Path(file["file"]).resolve()
            if path.is_relative_to(ROOM):
                lines = found[str(path.relative_to(ROOM))]
                for line in file["lines"]:
                    number = line["line_number"]
                    lines[number] = lines.get(number, False) or line["count"] > 0
    return found


def report(found: dict[str, dict[int, bool]], shown: Sequence[str]) -> None:
    """Print the share of each file, worst last, and the missed lines of those to show."""
    if not found:
        sys.exit("no counters were written: did the tests load the core?")
    counts = sorted((sum(lines.values()) - len(lines), name) for name, lines in found.items())
    for missed, name in reversed(counts):
        count = len(found[name])
        print(f"{100 + 100 * missed / count:6.1f} %  {-missed:4} of {count:4} missed  {name}")
    for name in shown:
        text = (ROOM / name).read_text().splitlines()
        for number in sorted(
            number for number, is_reached in found[name].items() if not is_reached
        ):
            print(f"{name}:{number}: {text[number - 1]}")
    total = sum(map(len, found.values()))
    print(f"{100 - 100 * sum(-missed for missed, _ in counts) / total:.1f} % of {total} lines")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
