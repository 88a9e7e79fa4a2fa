"""Measure the whole library against PyTorch: ``python -m benchmarks.suite`` (make bench-suite).

Prints every row, the geometric mean of each group and the worst rows, and writes JSON to
``benchmarks/results/COMMIT.json``. Without PyTorch the times stand alone.

Options: ``--group WORD`` and ``--only WORD`` choose rows by words in their group and name,
``--rounds N`` (default 15), ``--threads N`` (default 1), ``--untuned`` leaves malloc as it is, and
``--json FILE`` or ``--json none`` says where the JSON goes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import machine
from .rows import add_options, chosen


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.suite", description=__doc__.splitlines()[0])
    add_options(parser)
    parser.add_argument("--untuned", action="store_true", help="leave malloc as it is")
    parser.add_argument("--quiet", action="store_true", help="print the summary alone")
    parser.add_argument("--json", default="", help="a file, or none")
    options = parser.parse_args()
    machine.prepare(options.threads, tuned=not options.untuned)

    import dovetail  # after the environment is set

    from . import measuring, report

    libraries = {"dovetail": dovetail}
    torch = machine.torch(options.threads)
    if torch is not None:
        libraries["torch"] = torch
    sides = tuple(libraries)
    clock = measuring.clock_for(options.threads)
    about = machine.about(options.threads, tuned=not options.untuned)
    print(", ".join(f"{key} {value}" for key, value in about.items()))
    measured = []
    for row in chosen(options):
        measured.append(measuring.measure(row, libraries, options.rounds, clock))
        if not options.quiet:
            print(report.line(measured[-1], sides))
            sys.stdout.flush()
    print(report.summary(measured, sides))
    if options.json != "none":
        path = Path(options.json) if options.json else machine.result_path(about)
        report.write(path, about, measured)


if __name__ == "__main__":
    main()
