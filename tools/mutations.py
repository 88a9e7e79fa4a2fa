"""Changes one place of a room at a time, and sees whether a test of that room notices.

    python tools/mutations.py find kernel --count 50 --seed 1
    python tools/mutations.py retry kernel tests/front --only stubs.py
    python tools/mutations.py replay --seed 1 --minutes 2

`find` needs coverage. It draws places that are not on record, runs the room's own tests that reach
each, and adds to tests/mutations/ROOM.yaml which test noticed, or that none did. The room `core` is
the C of the native room: a change is compiled, left out if that fails, and tried with the files of
tests that reach it by gcov, those of other rooms after its own.
`retry` tries what no test noticed with the tests that are named, of this room or of others. A
record has `equal`, with the reason, where a change alters nothing that a program can see.
`replay` draws from what was noticed and fails if the test of a place passes now. A place whose code
has changed since is skipped and counted. Both work on a copy of the room.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import c_coverage
import yaml
from changed_places import Place
from changed_rooms import ROOMS, ROOT, Copy, copy_of, settings

RECORDS = ROOT / "tests" / "mutations"
OF_THE_BUILD = ("test_building", "test_loading", "test_instruction_sets")
"""Tests of the native room that compile or copy the room, and not what is changed."""

OTHERS_OF_CORE = (
    *("dispatcher/tests", "plugins/autograd/tests", "tests/interoperability"),
    "tests/front/test_dlpack.py",
)
"""Tests of other rooms that run compiled code most."""


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
            how = f"python tools/mutations.py find {room} --count {total} --seed {seed}"
            head = write(room, records, how)
    print(head)


def write(room: str, records: list[dict[str, Any]], how: str) -> str:
    """Write down the records of a room, under how many were noticed, which is returned."""
    tests = [each["noticed_by"] for each in records if each["noticed_by"]]
    own = sum(each.startswith(f"{ROOMS[room][0]}/tests") for each in tests)
    equal = sum("equal" in each for each in records)
    head = f"# {own} of {len(records)} noticed by the room's own tests, {len(tests) - own} by "
    head += f"others, {equal} equal in effect; the last by: {how}\n"
    text = yaml.safe_dump(records, sort_keys=False, width=100)
    (RECORDS / f"{room}.yaml").write_text(head + text, encoding="utf-8")
    return head.strip("# \n")


def retry(room: str, tests: list[str], only: str) -> None:
    """Try the places that no test noticed with some tests, all of them in one process, and write
    down at once which test notices each.
    """
    records = yaml.safe_load((RECORDS / f"{room}.yaml").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as name:
        copy = copy_of(room, Path(name))
        copy.at_once = len(tests)
        known = {_identity(each.record()): each for each in copy.all_places()}
        for record in records:
            place = known.get(_identity(record))
            if record["noticed_by"] or "equal" in record or only not in record["file"]:
                continue
            if place is None:
                print(f"its code has changed: {record}")
                continue
            lines = range(place.lines[0], place.lines[1] + 1)
            reached = {(place.file, line): tests for line in lines}
            record["noticed_by"] = noticed_by(copy, place, reached)
            print(f"{place.file}:{place.lines[0]} {place.before!r} -> {place.after!r}: ", end="")
            print(record["noticed_by"] or "not noticed", flush=True)
            write(room, records, f"python tools/mutations.py retry {room}")


def _identity(record: dict[str, Any]) -> tuple[Any, ...]:
    return tuple([record[name] for name in ("file", "function", "before", "after", "nth")])


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
    retrying = commands.add_parser("retry")
    retrying.add_argument("room", choices=ROOMS)
    retrying.add_argument("tests", nargs="+")
    retrying.add_argument("--only", default="", help="a part of the file's name")
    replaying = commands.add_parser("replay")
    replaying.add_argument("--seed", type=int, default=int(time.time()))
    replaying.add_argument("--minutes", type=float, default=2)
    options = parser.parse_args()
    if options.command == "find":
        find(options.room, options.count, options.seed)
    elif options.command == "retry":
        retry(options.room, options.tests, options.only)
    else:
        replay(options.seed, options.minutes)


if __name__ == "__main__":
    main()
