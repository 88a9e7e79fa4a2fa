"""Copies of rooms in which `mutations.py` changes one place at a time, and runs tests."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from changed_places import Place, places, places_in_c

ROOT = Path(__file__).resolve().parents[1]
ROOMS = {
    "kernel": ("kernel", "dovetail_kernel"),
    "dispatcher": ("dispatcher", "dovetail_dispatcher"),
    "autograd": ("plugins/autograd", "dovetail_autograd"),
    "native": ("plugins/native", "dovetail_native"),
    "core": ("plugins/native", "dovetail_native"),
}
"""Folder and package of each room whose tests are tried; of native, the modules in Python, and as
core those in C."""

OF_ALL = "test_taken_calls"
"""The test that calls every operator."""

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
