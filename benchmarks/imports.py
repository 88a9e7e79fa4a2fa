"""What importing costs: time over NumPy's, memory, modules, and size on disk, by package.

    python benchmarks/imports.py            # prints the table
    python benchmarks/imports.py --write    # puts it into docs/imports.md
    python benchmarks/imports.py --wheels dist [--write]   # sizes of the wheels of `make dist`

Every import runs in an interpreter of its own; the least of several times counts. Times are of the
processor, so that other programs matter little; NumPy's own stands in the first line to compare
with.
"""

from __future__ import annotations

import argparse
import compileall
import json
import subprocess
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "imports.md"
BEGIN, END = "<!-- table of imports -->", "<!-- end -->"

BEGIN_SIZES = "<!-- table of wheels -->"

DISTRIBUTIONS = (
    "dovetail_kernel",
    "dovetail_dispatcher",
    "dovetail_autograd",
    "dovetail_aten",
    "dovetail_cpu",
    "dovetail",
)
PARTS = (
    "dovetail.nn",
    "dovetail.optim",
    "dovetail.func",
    "dovetail.linalg",
    "dovetail.fft",
    "dovetail.special",
    "dovetail.utils.data",
    "dovetail.distributions",
    "dovetail.profiler",
    "dovetail.testing",
    "dovetail.library",
)

PROGRAM = """
import json, sys, time
def memory():
    try:
        pages = int(open("/proc/self/statm").read().split()[1])
    except OSError:  # no /proc: the most so far
        import resource
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return pages * 4096
before = time.process_time()
import numpy
if {after!r}:
    __import__({after!r})
start, rss, modules = time.process_time(), memory(), len(sys.modules)
if {name!r} != "numpy":
    __import__({name!r})
else:
    start = before
print(json.dumps([(time.process_time() - start) * 1e3, memory() - rss, len(sys.modules) - modules]))
"""


def measured(name: str, after: str, runs: int) -> tuple[float, int, int]:
    """Return milliseconds, bytes and number of modules that an import adds."""
    found = []
    for _ in range(runs):
        program = PROGRAM.format(name=name, after=after)
        output = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
        found.append(json.loads(output.stdout))
    return min(each[0] for each in found), min(each[1] for each in found), found[0][2]


def size_of(package: str) -> int:
    """Return the bytes of a package's files, without compiled ones."""
    spec = find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    folder = Path(spec.submodule_search_locations[0])
    files = [each for each in folder.rglob("*") if "__pycache__" not in each.parts]
    return sum(each.stat().st_size for each in files if each.is_file())


def table(runs: int) -> str:
    """Return the measurements as Markdown."""
    numpy = measured("numpy", "", runs)
    lines = [
        "| import | after | ms | MB | modules | kB on disk |",
        "|---|---|---|---|---|---|",
        f"| `numpy` | | {numpy[0]:.0f} | | | |",
    ]
    rows = [(name, "numpy", True) for name in DISTRIBUTIONS]
    rows += [(name, "dovetail", False) for name in PARTS]
    for name, after, sized in rows:
        time, memory, modules = measured(name, "" if after == "numpy" else after, runs)
        size = f"{size_of(name) / 1e3:.0f}" if sized else ""
        lines.append(
            f"| `{name}` | `{after}` | {time:.0f} | {memory / 1e6:.1f} | {modules} | {size} |"
        )
    return "\n".join(lines)


def sizes(folder: Path) -> str:
    """Return the sizes of the wheels in a folder as Markdown: as they are, unpacked, with the
    bytecode that pip compiles, and how long importing the package of each takes.
    """
    lines = [
        "| distribution | wheel, kB | installed, kB | with bytecode, kB | import, ms |",
        "|---|---|---|---|---|",
    ]
    totals = [0.0, 0.0, 0.0]
    for wheel in sorted(folder.glob("dovetail*.whl")):
        name = wheel.name.partition("-")[0]
        with tempfile.TemporaryDirectory() as place, zipfile.ZipFile(wheel) as archive:
            archive.extractall(place)
            own = bytes_of(Path(place))
            compileall.compile_dir(place, quiet=2)
            found = [wheel.stat().st_size, own, bytes_of(Path(place))]
        totals = [total + size for total, size in zip(totals, found, strict=True)]
        cells = [f"{size / 1e3:.0f}" for size in found]
        lines.append(f"| `{name.replace('_', '-')}` | {' | '.join(cells)} | {import_of(name)} |")
    lines.append(f"| all | {' | '.join([f'{total / 1e3:.0f}' for total in totals])} | |")
    return "\n".join(lines)


def bytes_of(folder: Path) -> int:
    """Return the bytes of the files in a folder."""
    return sum([each.stat().st_size for each in folder.rglob("*") if each.is_file()])


def import_of(name: str) -> str:
    """Return the milliseconds that importing a package adds to NumPy's, or to the library's for
    what stands on it; a dash where what it needs is not installed.
    """
    try:
        time, _, _ = measured(name, "" if name in DISTRIBUTIONS else "dovetail", 5)
    except subprocess.CalledProcessError:
        return "–"
    return f"{time:.0f}"


def written(page: str, begin: str, table: str) -> str:
    """Return a page with another table between a mark and the next end."""
    head, _, rest = page.partition(begin)
    return f"{head}{begin}\n{table}\n{END}{rest.partition(END)[2]}"


def main() -> None:
    """Measure, and print or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7, help="interpreters for each line")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    parser.add_argument("--wheels", type=Path, help="a folder of wheels: their sizes instead")
    options = parser.parse_args()
    begin = BEGIN_SIZES if options.wheels else BEGIN
    found = sizes(options.wheels) if options.wheels else table(options.runs)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(written(page, begin, found), encoding="utf-8")
    else:
        print(found)


if __name__ == "__main__":
    main()
