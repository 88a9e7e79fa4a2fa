"""Changes one place of a room at a time, and sees whether a test of that room notices.

    python tools/mutations.py find kernel --count 50 --seed 1
    python tools/mutations.py replay --seed 1 --minutes 2

`find` needs coverage. It draws places that are not on record, runs the room's own tests that reach
each, and adds to tests/mutations/ROOM.yaml which test noticed, or that none did. The room `core` is
the C of the native room: a change is compiled, left out if that fails, and tried with the files of
tests that reach it by gcov, those of other rooms after its own.
`replay` draws from what was noticed and fails if the test of a place passes now. A place whose code
has changed since is skipped and counted. Both work on a copy of the room.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import c_coverage
import yaml
from changed_places import Place, places, places_in_c

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "tests" / "mutations"
ROOMS = {
    "kernel": ("kernel", "dovetail_kernel"),
    "dispatcher": ("dispatcher", "dovetail_dispatcher"),
    "autograd": ("plugins/autograd", "dovetail_autograd"),
    "native": ("plugins/native", "dovetail_native"),
    "core": ("plugins/native", "dovetail_native"),
}
"""Folder and package of each room whose tests are tried; of native, the modules in Python, and as
core those in C."""

OF_THE_BUILD = ("test_building", "test_loading", "test_instruction_sets")
"""Tests of the native room that compile or copy the room, and not what is changed."""

OF_ALL = "test_taken_calls"
"""The test that calls every operator."""

OTHERS_OF_CORE = (
    *("dispatcher/tests", "plugins/autograd/tests", "tests/interoperability"),
    "tests/front/test_dlpack.py",
)
"""Tests of other rooms that run compiled code most."""

SECONDS_OF_A_TEST = 120
"""What a change may make a test run before that counts as noticed."""


class Copy:
    """A copy of a room's package, which comes before the room in what it runs."""

    at_once = 40
    """How many tests are run in a piece: what many reach is mostly noticed by the first of them."""

    def __init__(self, room: str, folder: Path) -> None:
        self.room, self.package = ROOMS[room]
        self.settings = settings(room)
        self.tests = f"{self.room}/tests"
        self.source = ROOT / self.room / "src"
        self.folder = folder
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(self.source / self.package, folder / self.package, ignore=ignored)

    @cache  # noqa: B019 -- there are few copies, as long as the process
    def passes_unchanged(self, test: str) -> bool:
        """Return whether a test passes alone where nothing is changed."""
        return self.passes(None, [test])[0]

    def relevance(self, place: Place) -> Callable[[str], tuple[bool, bool, str]]:
        """Return the order of tests for a place: the room's own first, of these one of every
        operator, then those named for its file.
        """
        names = (OF_ALL, Path(place.file).stem)
        return lambda test: (
            not test.startswith(self.tests),
            not any(each in test for each in names),
            test,
        )

    def all_places(self) -> list[Place]:
        """Return the places of every module, those that codegen writes left out."""
        return [
            each
            for path in sorted((self.source / self.package).rglob("*.py"))
            if "_generated" not in path.parts
            for each in places(path, self.source)
        ]

    @contextlib.contextmanager
    def changed(self, place: Place | None) -> Iterator[Path]:
        """Change a place of the copy for a block, or none; the block gets the folder to import
        from.
        """
        if place is None:
            yield self.folder
            return
        text = (self.source / place.file).read_text(encoding="utf-8")
        begin, end = place.span
        path = self.folder / place.file
        path.write_text(text[:begin] + place.after + text[end:], encoding="utf-8")
        try:
            yield self.folder
        finally:
            shutil.copy2(self.source / place.file, path)

    def passes(self, place: Place | None, tests: list[str]) -> tuple[bool, str]:
        """Run tests with a place changed, or none; return whether they pass and which failed first.

        What takes longer than `SECONDS_OF_A_TEST` fails.
        """
        with self.changed(place) as folder:
            environment = {**os.environ, **self.settings, "PYTHONPATH": str(folder)}
            environment["PYTHONDONTWRITEBYTECODE"] = "1"
            options = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "-rfE", "--tb=no"]
            command = [sys.executable, "-m", "pytest", *options, *tests]
            code, output = _run_group(command, environment)
        for line in output.splitlines():
            if line.startswith(("FAILED ", "ERROR ")):
                named = line.split(" ", 1)[1].split(" - ")[0]
                is_whole = (ROOT / named.partition("::")[0]).exists()
                return False, named if is_whole else f"{self.room}/{named}"
        return code == 0, tests[0] if len(tests) == 1 else ""


class CopyOfCore(Copy):
    """A copy of the sources of the compiled core, which is compiled where a place is changed."""

    at_once = 4

    def __init__(self, folder: Path) -> None:
        self.room, self.settings = ROOMS["core"][0], settings("core")
        self.tests = f"{self.room}/tests"
        self.source, self.folder = ROOT / self.room, folder / "sources"
        self.compiled: dict[str, Place | None] = {}
        ignored = shutil.ignore_patterns("__pycache__", "tests", "build", "*.so")
        shutil.copytree(self.source, self.folder, ignore=ignored)
        objects = self.folder / "build" / "objects"
        objects.mkdir(parents=True)
        for each in (self.source / "build" / "objects").glob("*.o"):
            (objects / each.name).symlink_to(each)

    def all_places(self) -> list[Place]:
        """Return the places of every C file."""
        files = sorted(self.source.glob("*/*.c"))
        return [each for path in files for each in places_in_c(path, self.source)]

    @contextlib.contextmanager
    def changed(self, place: Place | None) -> Iterator[Path]:
        """Compile the core with a place changed, or none, unless it was the last one. Raises
        CalledProcessError if it does not compile.
        """
        name = "changed" if place else "unchanged"
        target = self.folder.parent / name
        if name not in self.compiled or self.compiled[name] != place:
            self.compiled.pop(name, None)
            shutil.rmtree(target, ignore_errors=True)
            with super().changed(place):
                words = [sys.executable, self.folder / "hatch_build.py", target]
                subprocess.run(words, check=True, capture_output=True)
            self.compiled[name] = place
        yield target


def copy_of(room: str, folder: Path) -> Copy:
    """Return a copy of a room in a folder."""
    return CopyOfCore(folder) if room == "core" else Copy(room, folder)


def settings(room: str) -> dict[str, str]:
    """Return the variables under which a room's tests run: text in Python, since what is changed is
    that, but for the room that compiles.
    """
    return {"DOVETAIL_NATIVE": "1" if room in ("native", "core") else "0"}


def _run_group(command: list[str], environment: dict[str, str]) -> tuple[int, str]:
    """Run a command; return its status and what it printed. After `SECONDS_OF_A_TEST` it and its
    children, which a changed fork or lock may have left waiting, are killed.
    """
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=SECONDS_OF_A_TEST)
        except subprocess.TimeoutExpired:
            output = ""
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, output


def tests_by_line(room: str, folder: Path) -> dict[tuple[str, int], list[str]]:
    """Run a room's tests with coverage; return those that reach each line of each file."""
    import coverage

    folder_of_room = ROOMS[room][0]
    data = folder / "coverage"
    plugin = folder / "contexts_of_tests.py"
    plugin.write_text(
        "import coverage, pytest\n"
        "@pytest.hookimpl(tryfirst=True)\n"
        "def pytest_runtest_protocol(item):\n"
        "    coverage.Coverage.current().switch_context(item.nodeid)\n"
    )
    source = ROOT / folder_of_room / "src"
    words = [sys.executable, "-m", "coverage", "run", f"--data-file={data}"]
    words += [f"--include={source}/*", "-m", "pytest", "-q", "-p", plugin.stem]
    words += ["-p", "no:cacheprovider", f"{folder_of_room}/tests"]
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, **settings(room), "PYTHONPATH": os.pathsep.join(paths)}
    # A few tests look at frames and fail under a tracer: the others have run all the same.
    subprocess.run(words, cwd=ROOT, env=environment, check=False)
    read = coverage.CoverageData(str(data))
    read.read()
    reached: dict[tuple[str, int], list[str]] = {}
    for file in read.measured_files():
        name = Path(file).relative_to(source).as_posix()
        for line, contexts in read.contexts_by_lineno(file).items():
            # A test's name begins at the room, whose settings pytest reads. What runs before the
            # tests, as modules are imported, may show in any of them.
            is_early = not all("::" in each for each in contexts)
            tests = sorted(f"{folder_of_room}/{each}" for each in contexts if "::" in each)
            reached[name, line] = [*tests, f"{folder_of_room}/tests"] if is_early else tests
    if not reached:
        sys.exit("coverage reached no line of the room: do its tests run?")
    return reached


def tests_by_line_of_core() -> dict[tuple[str, int], list[str]]:
    """Return the files of tests that reach each line of the compiled core, its room's first."""
    own = sorted((ROOT / ROOMS["core"][0] / "tests").glob("test_*.py"))
    others = [ROOT / each for each in OTHERS_OF_CORE]
    return c_coverage.tests_by_line([e for e in own if e.stem not in OF_THE_BUILD] + others)


def find(room: str, count: int, seed: int) -> None:
    """Try `count` more places of a room, and write down at once which test notices each."""
    target = RECORDS / f"{room}.yaml"
    records = yaml.safe_load(target.read_text(encoding="utf-8")) if target.exists() else []
    known = {_identity(each) for each in records}
    total = count
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # Of the room itself: the copy is made after.
        reached = tests_by_line_of_core() if room == "core" else tests_by_line(room, folder)
        copy = copy_of(room, folder)
        new = [each for each in copy.all_places() if _identity(each.record()) not in known]
        random.Random(seed).shuffle(new)
        for place in new:
            if count == 0:
                break
            try:
                record = {**place.record(), "noticed_by": noticed_by(copy, place, reached)}
            except subprocess.CalledProcessError:
                continue  # it does not compile
            count -= 1
            records.append(record)
            print(f"{place.file}:{place.lines[0]} {place.before!r} -> {place.after!r}: ", end="")
            print(record["noticed_by"] or "not noticed", flush=True)
            tests = [each["noticed_by"] for each in records if each["noticed_by"]]
            own = sum(each.startswith(copy.tests) for each in tests)
            head = f"# {own} of {len(records)} noticed"
            head += f", {len(tests) - own} more by tests of other rooms" if room == "core" else ""
            head += f"; the last by: python tools/mutations.py find {room} --count {total}"
            head += f" --seed {seed}\n"
            target.write_text(head + yaml.safe_dump(records, sort_keys=False, width=100))
    print(head.strip("# \n"))


def _identity(record: dict[str, Any]) -> tuple[Any, ...]:
    return tuple([value for name, value in record.items() if name != "noticed_by"])


def noticed_by(copy: Copy, place: Place, reached: dict[tuple[str, int], list[str]]) -> str | None:
    """Return a test that fails alone when the place is changed, and passes when it is not."""
    first, last = place.lines
    lines = [reached.get((place.file, line), []) for line in range(first, last + 1)]
    reaching = {test for each in lines for test in each}
    pieces = batched(sorted(reaching - {copy.tests}, key=copy.relevance(place)), copy.at_once)
    if copy.tests in reaching:
        files = sorted((ROOT / copy.tests).rglob("test_*.py"))
        files = [each for each in files if each.stem not in OF_THE_BUILD]
        files.sort(key=lambda file: Path(place.file).stem not in file.name)  # those of it first
        pieces += batched([each.relative_to(ROOT).as_posix() for each in files], 6)
    for piece in pieces:
        passed, failed = copy.passes(place, piece)
        # No test has a name where the tests cannot be imported, or the process crashed.
        for test in [] if passed else [failed] if failed else piece:
            if not copy.passes(place, [test])[0] and copy.passes_unchanged(test):
                return test
    return None


def batched(tests: list[str], size: int) -> list[list[str]]:
    """Return tests in groups of a size."""
    return [tests[begin : begin + size] for begin in range(0, len(tests), size)]


def replay(seed: int, minutes: float) -> None:
    """Try places that were noticed once again, as many as fit, and fail if one is not noticed."""
    records = [
        (path.stem, record)
        for path in sorted(RECORDS.glob("*.yaml"))
        for record in yaml.safe_load(path.read_text()) or []
        if record["noticed_by"]
    ]
    random.Random(seed).shuffle(records)
    until = time.monotonic() + 60 * minutes
    tried, gone, lost = 0, 0, []
    with tempfile.TemporaryDirectory() as name:
        copies = {room: copy_of(room, Path(name) / room) for room in ROOMS}
        known = {
            room: {_identity(each.record()): each for each in copy.all_places()}
            for room, copy in copies.items()
        }
        for room, record in records:
            if time.monotonic() > until:
                break
            test = record["noticed_by"]
            place = known[room].get(_identity(record))
            if place is None or not (ROOT / test.split("::")[0]).exists():
                gone += 1
                continue
            tried += 1
            if copies[room].passes(place, [test])[0]:
                lost.append(
                    f"{place.file}:{place.lines[0]} {place.before} -> {place.after}: {test}"
                )
    for each in lost:
        print(f"not noticed any more: {each}")
    total = len(records)
    print(
        f"mutations: {tried} tried of {total} on record (--seed {seed}), {len(lost)} not noticed, "
        f"{gone} whose code has changed"
    )
    if lost or not tried:
        sys.exit(1)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    finding = commands.add_parser("find")
    finding.add_argument("room", choices=ROOMS)
    finding.add_argument("--count", type=int, default=50)
    finding.add_argument("--seed", type=int, default=1)
    replaying = commands.add_parser("replay")
    replaying.add_argument("--seed", type=int, default=int(time.time()))
    replaying.add_argument("--minutes", type=float, default=2)
    options = parser.parse_args()
    if options.command == "find":
        find(options.room, options.count, options.seed)
    else:
        replay(options.seed, options.minutes)


if __name__ == "__main__":
    main()
